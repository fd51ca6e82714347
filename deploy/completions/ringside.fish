# SPDX-License-Identifier: Apache-2.0
# fish asks this file at the first Tab after `ringside`; what can be completed is the program's to say.
ringside completion fish 2>/dev/null | source
