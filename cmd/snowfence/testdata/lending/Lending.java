import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;

/** What the tests of the Java client run: Lending vectors FILE, late, once, refused, hook, or talk GENERATOR MILLISECONDS URL... */
final class Lending {
    public static void main(String[] arguments) throws Exception {
        switch (arguments[0]) {
            case "vectors" -> vectors(arguments[1]);
            case "late" -> late();
            case "once" -> once();
            case "refused" -> refused();
            case "hook" -> hook();
            default -> talk(arguments);
        }
    }

    private static final String CLAIMED = """
        {"base":"151552","check":"119044413849751552","datacenter":0,"epoch_ms":1767225600000,"extend_after_ms":20000,
        "floor":"28382400000","form":"decimal","lease":"A","loss_ms":5000,"max_behind_ms":5000,"sequence_bits":12,
        "sequence_shift":0,"time_shift":22,"unit_us":1000,"until":"28382460000","window_ms":60000,"worker":37}""";

    private static final ServerSocket server = listen();

    private static ServerSocket listen() {
        try {
            return new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Snowfence client() {
        return Snowfence.open(List.of("http://127.0.0.1:" + server.getLocalPort()), "default", null, "talk");
    }

    /** Asks for an id in a thread of its own, so the client claims. */
    private static void ask(Snowfence ids) {
        Thread asks = new Thread(() -> ids.fill(1, 60000));
        asks.setDaemon(true);
        asks.start();
    }

    /** Takes one request, and returns its body. */
    private static String request(Socket connection) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(connection.getInputStream(), StandardCharsets.US_ASCII));
        int length = 0;
        for (String line = in.readLine(); !line.isEmpty(); line = in.readLine())
            if (line.toLowerCase().startsWith("content-length: ")) length = Integer.parseInt(line.substring(16));
        char[] body = new char[length];
        for (int got = 0; got < length; ) got += in.read(body, got, length - got);
        return new String(body);
    }

    private static void answer(Socket connection, String status, String type, String body) throws IOException {
        String head = "HTTP/1.1 " + status + "\r\nContent-Type: " + type + "\r\nContent-Length: " + body.length() + "\r\n\r\n";
        connection.getOutputStream().write((head + body).getBytes(StandardCharsets.US_ASCII));
    }

    /** A bound must not count as older than it is: an answer is noted late, and what is sent early, by less than a tick of the clock. */
    static void late() throws Exception {
        AtomicLong nanos = new AtomicLong(-7_500_000);
        Snowfence.nanos = nanos::get;
        Snowfence ids = client();
        ask(ids);
        try (Socket claim = server.accept()) {
            request(claim);
            nanos.set(100_900_000);
            answer(claim, "200 OK", "application/json", CLAIMED);
        }
        while (ids.held == null) Thread.sleep(1);
        if (ids.held.sent > -8 || ids.held.came < 101) throw new AssertionError(ids.held.sent + ", " + ids.held.came);
        System.out.println("late");
        Runtime.getRuntime().halt(0);
    }

    /** A claim whose answer is lost is not repeated by the library: each try has another clock. */
    static void once() throws Exception {
        Snowfence.clock = new AtomicLong()::incrementAndGet;
        Snowfence ids = client();
        ask(ids);
        String[] claims = new String[2];
        for (int i = 0; i < 2; i++) {
            try (Socket claim = server.accept()) {
                claims[i] = request(claim);
            }
        }
        if (claims[0].equals(claims[1])) throw new AssertionError("twice: " + claims[0]);
        System.out.println("once");
        Runtime.getRuntime().halt(0);
    }

    /** A daemon that refuses the token is no other program. */
    static void refused() throws Exception {
        Snowfence ids = client();
        ask(ids);
        try (Socket claim = server.accept()) {
            request(claim);
            answer(claim, "401 Unauthorized", "application/problem+json", "{\"type\":\"t\",\"detail\":\"a valid token is required\"}");
        }
        for (String why = ""; !why.contains("(status 401)"); ) {
            try {
                ids.fill(1, 1);
            } catch (Snowfence.Unavailable e) {
                why = e.getMessage();
            }
            if (why.contains("no answer of a daemon")) throw new AssertionError(why);
        }
        System.out.println("refused");
        Runtime.getRuntime().halt(0);
    }

    /** Programs close their ids in a shutdown hook, and go on there. */
    static void hook() {
        Snowfence ids = client();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            ids.close();
            System.out.println("hook");
        }));
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
