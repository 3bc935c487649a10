package bench;

import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import org.nd4j.linalg.factory.Nd4j;

/** Speaks the protocol of benchmarks/serve/loop.py. */
public final class Server {
    /** What is timed, and what is done before each call and not timed. */
    static final class Work {
        final Runnable call;
        final Runnable prepare;

        Work(Runnable call, Runnable prepare) {
            this.call = call;
            this.prepare = prepare;
        }
    }

    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private Server() {}

    public static void main(String[] arguments) throws Exception {
        PrintStream replies = new PrintStream(new FileOutputStream(FileDescriptor.out), true);
        System.setOut(System.err);
        int threads = Integer.parseInt(System.getenv("OMP_NUM_THREADS"));
        Nd4j.getEnvironment().setMaxThreads(threads);
        Nd4j.getEnvironment().setMaxMasterThreads(threads);
        replies.println(greeting(arguments[0]));

        Map<String, Work> works = new HashMap<>();
        Map<String, Double> held = new HashMap<>();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ", -1);
            String answer;
            try {
                String name = words[0] + " " + words[1];
                if (!works.containsKey(name)) {
                    works.put(name, make(name));
                    held.put(name, beginPeak());
                }
                answer = timed(works.get(name), Double.parseDouble(words[2]), held.get(name));
            } catch (Exception error) {
                answer = String.format("{\"error\": \"%s\"}", error.toString().replaceAll("[\"\\\\\\s]+", " "));
            }
            replies.println(answer);
        }
        System.exit(0);
    }

    private static String greeting(String version) {
        StringBuilder offers = new StringBuilder();
        for (String net : Networks.NAMES)
            for (String what : new String[] {"fit", "output"})
                offers.append(String.format("[\"%s\", \"%s\", \"\"], ", net, what));
        for (String length : Threshold.LENGTHS.keySet())
            for (String what : new String[] {"encode", "decode"})
                offers.append(String.format("[\"threshold\", \"%s-%s\", \"\"], ", what, length));
        offers.setLength(offers.length() - 2);
        return String.format(
                "{\"versions\": {\"java\": \"%s\", \"dl4j\": \"%s\"}, \"offers\": [%s]}",
                System.getProperty("java.version"), version, offers);
    }

    private static Work make(String name) {
        String[] words = name.split(" ");
        if (words[0].equals("threshold")) return Threshold.make(words[1]);
        return Networks.make(words[0], words[1]);
    }

    /** Returns the resident memory in MiB, and lets the system forget the peak so far. */
    private static double beginPeak() throws IOException {
        Files.writeString(Path.of("/proc/self/clear_refs"), "5");
        for (String line : Files.readAllLines(Path.of("/proc/self/status")))
            if (line.startsWith("VmRSS:")) return Double.parseDouble(line.replaceAll("\\D", "")) / 1024;
        return 0;
    }

    private static String timed(Work work, double seconds, double held) {
        long wall = 0;
        long cpu = 0;
        int calls = 0;
        while (calls == 0 || wall < seconds * 1e9) {
            work.prepare.run();
            long cpuBefore = SYSTEM.getProcessCpuTime();
            long wallBefore = System.nanoTime();
            work.call.run();
            wall += System.nanoTime() - wallBefore;
            cpu += SYSTEM.getProcessCpuTime() - cpuBefore;
            calls++;
        }
        return String.format(
                Locale.ROOT,
                "{\"calls\": %d, \"wall_ms\": %.6g, \"cpu_ms\": %.6g, \"held_mib\": %.6g}",
                calls, wall * 1e-6 / calls, cpu * 1e-6 / calls, held);
    }
}
