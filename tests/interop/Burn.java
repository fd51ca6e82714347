// SPDX-License-Identifier: Apache-2.0
// A method that Datadog's agent traces (-Ddd.trace.methods=Burn[burn]): says which ids it has, and burns.
public class Burn {
	static volatile long sink;

	// The agent's own classes are there when it is, and not when this is compiled.
	static String id(String which) throws Exception {
		return (String) Class.forName("datadog.trace.api.CorrelationIdentifier", true, null)
			.getMethod(which).invoke(null);
	}

	static String hex(String id, int digits) {
		String s = id.length() == 32 ? id : Long.toHexString(Long.parseUnsignedLong(id));

		return "0".repeat(digits - s.length()) + s;
	}

	public static void burn(long seconds) throws Exception {
		long end = System.nanoTime() + seconds * 1000000000L;

		System.out.println(ProcessHandle.current().pid() + " " + hex(id("getTraceId"), 32) + " " +
				   hex(id("getSpanId"), 16));
		while (System.nanoTime() < end)
			sink++;
	}

	// The profiler, which publishes, starts a while after the program.
	public static void main(String[] args) throws Exception {
		Thread.sleep(15000);
		burn(Long.parseLong(args[0]));
	}
}
