import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** What the tests of the Java client run: Lending vectors FILE, or talk GENERATOR MILLISECONDS URL... */
final class Lending {
    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("vectors")) vectors(arguments[1]);
        else talk(arguments);
    }

    /** The file has a line for each step: its name, the step and the answer. */
    static void vectors(String path) throws Exception {
        Snowfence.Held held = null;
        for (String line : Files.readAllLines(Path.of(path))) {
            String[] parts = line.split("\t");
            Map<String, String> step = Snowfence.parse(parts[1]), answer = Snowfence.parse(parts[2]);
            String got = null, want = step.get("outcome");
            switch (step.get("do")) {
                case "claim" -> {
                    try {
                        held = new Snowfence.Held(answer, ms(step, "sent_ms"), ms(step, "came_ms"));
                        got = "taken";
                    } catch (Snowfence.SnowfenceException e) {
                        got = "refused";
                    }
                }
                case "extend", "again" -> held.extend(ms(step, "sent_ms"), step.get("mark"));
                case "gone", "release" -> { // the client forgets the lease
                    held.left = true;
                    got = step.containsKey("tick") ? Long.toString(held.nextTick()) : null;
                    want = step.get("tick");
                }
                case "answer" -> {
                    try {
                        got = held.left ? "ignored" : held.answered(answer, ms(step, "came_ms")) ? "taken" : "ignored";
                    } catch (Snowfence.Gone e) {
                        got = "refused";
                    }
                }
                case "stamp" -> {
                    int count = 0, bits = held.randomBits;
                    held.random = () -> ms(step, "random") << 64 - bits;
                    for (int i = Integer.parseInt(step.getOrDefault("times", "1")); i > 0; i--)
                        count = held.stamp(ms(step, "wall_ms") * 1000, 1);
                    got = count == 0 ? null : held.text();
                    want = step.get("id");
                }
                case "due" -> {
                    got = Long.toString(held.due());
                    want = step.get("at_ms");
                }
                default -> {
                    got = Long.toString(held.nextTick());
                    want = step.get("tick");
                }
            }
            if (!Objects.equals(got, want)) throw new AssertionError(parts[0] + ": " + step + ": " + got + ", want " + want);
            System.out.println(parts[0] + " " + step.get("do"));
        }
    }

    private static long ms(Map<String, String> step, String name) { return Long.parseLong(step.get(name)); }

    static void talk(String[] arguments) throws Exception {
        List<String> urls = Arrays.asList(arguments).subList(3, arguments.length);
        StringBuilder got = new StringBuilder();
        try (Snowfence ids = Snowfence.open(urls, arguments[1], null, "talk")) {
            for (String id : ids.fillText(5000, 30000)) got.append(id).append('\n');
            for (int i = 0; i < 5000; i++) got.append(ids.nextText()).append('\n');
            for (long end = System.nanoTime() + Long.parseLong(arguments[2]) * 1_000_000; System.nanoTime() < end; Thread.sleep(10))
                got.append(ids.fillText(1, 30000)[0]).append('\n');
        }
        System.out.print(got);
    }
}
