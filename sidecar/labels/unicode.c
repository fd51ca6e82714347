/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Case from tables; properties from PCRE2, one pattern of one code point for each name
 * that a rule uses. Patterns live as long as the program: there are at most as many as
 * names.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "sidecar/labels/unicode.h"

#include <pcre2.h>
#include <stdio.h>
#include <string.h>

#include "sidecar/labels/case_tables.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *const categories[] = {
	"C",  "Cc", "Cf", "Co", "Cs", "L",  "Ll", "Lm", "Lo", "Lt", "Lu", "M",
	"Mc", "Me", "Mn", "N",	"Nd", "Nl", "No", "P",	"Pc", "Pd", "Pe", "Pf",
	"Pi", "Po", "Ps", "S",	"Sc", "Sk", "Sm", "So", "Z",  "Zl", "Zp", "Zs",
};
static const char *const scripts[] = {
	"Adlam", "Ahom", "Anatolian_Hieroglyphs", "Arabic", "Armenian", "Avestan",
	"Balinese", "Bamum", "Bassa_Vah", "Batak", "Bengali", "Bhaiksuki", "Bopomofo",
	"Brahmi", "Braille", "Buginese", "Buhid", "Canadian_Aboriginal", "Carian",
	"Caucasian_Albanian", "Chakma", "Cham", "Cherokee", "Chorasmian", "Common",
	"Coptic", "Cuneiform", "Cypriot", "Cypro_Minoan", "Cyrillic", "Deseret",
	"Devanagari", "Dives_Akuru", "Dogra", "Duployan", "Egyptian_Hieroglyphs",
	"Elbasan", "Elymaic", "Ethiopic", "Georgian", "Glagolitic", "Gothic", "Grantha",
	"Greek", "Gujarati", "Gunjala_Gondi", "Gurmukhi", "Han", "Hangul",
	"Hanifi_Rohingya", "Hanunoo", "Hatran", "Hebrew", "Hiragana",
	"Imperial_Aramaic", "Inherited", "Inscriptional_Pahlavi",
	"Inscriptional_Parthian", "Javanese", "Kaithi", "Kannada", "Katakana",
	"Kayah_Li", "Kharoshthi", "Khitan_Small_Script", "Khmer", "Khojki", "Khudawadi",
	"Lao", "Latin", "Lepcha", "Limbu", "Linear_A", "Linear_B", "Lisu", "Lycian",
	"Lydian", "Mahajani", "Makasar", "Malayalam", "Mandaic", "Manichaean",
	"Marchen", "Masaram_Gondi", "Medefaidrin", "Meetei_Mayek", "Mende_Kikakui",
	"Meroitic_Cursive", "Meroitic_Hieroglyphs", "Miao", "Modi", "Mongolian", "Mro",
	"Multani", "Myanmar", "Nabataean", "Nandinagari", "New_Tai_Lue", "Newa", "Nko",
	"Nushu", "Nyiakeng_Puachue_Hmong", "Ogham", "Ol_Chiki", "Old_Hungarian",
	"Old_Italic", "Old_North_Arabian", "Old_Permic", "Old_Persian", "Old_Sogdian",
	"Old_South_Arabian", "Old_Turkic", "Old_Uyghur", "Oriya", "Osage", "Osmanya",
	"Pahawh_Hmong", "Palmyrene", "Pau_Cin_Hau", "Phags_Pa", "Phoenician",
	"Psalter_Pahlavi", "Rejang", "Runic", "Samaritan", "Saurashtra", "Sharada",
	"Shavian", "Siddham", "SignWriting", "Sinhala", "Sogdian", "Sora_Sompeng",
	"Soyombo", "Sundanese", "Syloti_Nagri", "Syriac", "Tagalog", "Tagbanwa",
	"Tai_Le", "Tai_Tham", "Tai_Viet", "Takri", "Tamil", "Tangsa", "Tangut",
	"Telugu", "Thaana", "Thai", "Tibetan", "Tifinagh", "Tirhuta", "Toto",
	"Ugaritic", "Vai", "Vithkuqi", "Wancho", "Warang_Citi", "Yezidi", "Yi",
	"Zanabazar_Square",
};

struct unicode_property { pcre2_code *code; pcre2_match_data *match; bool any; };
static struct unicode_property properties[COUNT(categories) + COUNT(scripts) + 1];

size_t unicode_decode(const char *s, size_t n, uint32_t *rune, bool *valid)
{
	const unsigned char *u = (const unsigned char *)s;
	size_t len = u[0] < 0x80   ? 1
		     : u[0] < 0xc2 ? 0
		     : u[0] < 0xe0 ? 2
		     : u[0] < 0xf0 ? 3
		     : u[0] < 0xf5 ? 4
				   : 0;
	uint32_t r = len < 2 ? u[0] : u[0] & (0x7fu >> len);

	for (size_t i = 1; i < len; i++) {
		if (i >= n || (u[i] & 0xc0) != 0x80)
			len = 0;
		else
			r = r << 6 | (u[i] & 0x3fu);
	}
	if (!len || (len == 3 && (r < 0x800 || (r >= 0xd800 && r <= 0xdfff))) ||
	    (len == 4 && (r < 0x10000 || r > RUNE_MAX))) {
		*rune = RUNE_BAD;
		*valid = false;
		return 1;
	}
	*rune = r;
	*valid = true;
	return len;
}

size_t unicode_encode(uint32_t r, char out[4])
{
	if (r < 0x80) {
		out[0] = (char)r;
		return 1;
	}
	if (r < 0x800) {
		out[0] = (char)(0xc0 | r >> 6);
		out[1] = (char)(0x80 | (r & 0x3f));
		return 2;
	}
	if (r < 0x10000) {
		out[0] = (char)(0xe0 | r >> 12);
		out[1] = (char)(0x80 | (r >> 6 & 0x3f));
		out[2] = (char)(0x80 | (r & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | r >> 18);
	out[1] = (char)(0x80 | (r >> 12 & 0x3f));
	out[2] = (char)(0x80 | (r >> 6 & 0x3f));
	out[3] = (char)(0x80 | (r & 0x3f));
	return 4;
}

bool unicode_is_utf8(const char *s, size_t n)
{
	uint32_t rune;
	bool valid = true;

	while (n > 0 && valid) {
		size_t len = unicode_decode(s, n, &rune, &valid);

		s += len;
		n -= len;
	}
	return valid;
}

static uint32_t map(const struct case_range *t, size_t n, uint32_t rune)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = (low + high) / 2;
		const struct case_range *r = &t[mid];

		if (rune > r->last)
			low = mid + 1;
		else if (rune < r->first)
			high = mid;
		else
			return (rune - r->first) % r->step ? rune
							   : rune + (uint32_t)r->delta;
	}
	return rune;
}

uint32_t unicode_lower(uint32_t rune)
{
	return map(lower_ranges, COUNT(lower_ranges), rune);
}

uint32_t unicode_upper(uint32_t rune)
{
	return map(upper_ranges, COUNT(upper_ranges), rune);
}

uint32_t unicode_fold(uint32_t rune)
{
	return map(fold_ranges, COUNT(fold_ranges), rune);
}

static int find(const char *const *names, size_t count, const char *name, size_t n)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(names[i]) == n && !memcmp(names[i], name, n))
			return (int)i;
	return -1;
}

static bool compile(struct unicode_property *p, const char *pattern)
{
	PCRE2_SIZE at;
	int err;

	p->code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
				PCRE2_UTF | PCRE2_ANCHORED | PCRE2_ENDANCHORED |
					PCRE2_NEVER_BACKSLASH_C,
				&err, &at, NULL);
	if (!p->code)
		return false;
	p->match = pcre2_match_data_create(1, NULL);
	if (p->match)
		return true;
	pcre2_code_free(p->code);
	p->code = NULL;
	return false;
}

const struct unicode_property *unicode_property(const char *name, size_t n)
{
	struct unicode_property *p = &properties[COUNT(categories) + COUNT(scripts)];
	char pattern[64];
	int i;

	if (n == 3 && !memcmp(name, "Any", 3)) {
		p->any = true;
		return p;
	}
	i = find(categories, COUNT(categories), name, n);
	if (i >= 0) {
		p = &properties[i];
		/* Unassigned ones are no members of C here. */
		snprintf(pattern, sizeof(pattern), "%s%s%s",
			 i ? "\\p{" : "[\\p{Cc}\\p{Cf}\\p{Co}\\p{Cs}]",
			 i ? categories[i] : "", i ? "}" : "");
	} else {
		i = find(scripts, COUNT(scripts), name, n);
		if (i < 0)
			return NULL;
		p = &properties[COUNT(categories) + (size_t)i];
		snprintf(pattern, sizeof(pattern), "\\p{sc:%s}", scripts[i]);
	}
	return p->code || compile(p, pattern) ? p : NULL;
}

bool unicode_has(const struct unicode_property *p, uint32_t rune)
{
	char s[4];
	size_t n;

	if (p->any)
		return true;
	if (rune >= 0xd800 && rune <= 0xdfff)	/* never in a text */
		return false;
	n = unicode_encode(rune, s);
	return pcre2_match(p->code, (PCRE2_SPTR)s, n, 0, PCRE2_NO_UTF_CHECK, p->match,
			   NULL) >= 0;
}

bool unicode_is_letter_or_digit(uint32_t rune)
{
	const struct unicode_property *letters, *digits;

	if (rune < 0x80)
		return (rune >= '0' && rune <= '9') ||
		       ((rune | 0x20) >= 'a' && (rune | 0x20) <= 'z');
	letters = unicode_property("L", 1);
	digits = unicode_property("Nd", 2);
	return (letters && unicode_has(letters, rune)) ||
	       (digits && unicode_has(digits, rune));
}
