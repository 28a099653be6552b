import java.io.*;
import java.math.BigInteger;
import java.net.*;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.util.*;
import java.util.function.*;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Unique ids, minted in this process with a worker id that is borrowed from Snowfence daemons. No two ids are ever equal,
 * whatever fails: daemons, the network, the store, this machine's clock. Ids rise as long as one worker id lasts.
 * docs/lending.md of Snowfence has the rules, and the limit: a running copy of a virtual machine.
 * <pre>
 * var ids = Snowfence.open(List.of("http://10.0.0.1:7600", "http://10.0.0.2:7600"), "orders", token, "billing");
 * ids.next();           // a long; fill(100, 1000) is an array, in a second at most
 * ids.nextText();       // a text, as ids of a wide layout are; fillText is an array
 * ids.close();          // gives the worker id back; the end of the process does it too
 * </pre>
 * Any thread may call these. The first id claims a worker id. A program that was restored from an image (CRaC, SnapStart) must
 * call reset before anything else. No lease is ever written to a disk. Copy this file into your program: Java 17 or later.
 */
public final class Snowfence implements AutoCloseable {
    private static final String GONE = "tag:snowfence.example,2026:problem/lease-(gone|moved)";
    private static final Pattern FIELD = Pattern.compile("\"(\\w+)\":\\s*(?:\"([^\"\\\\]*+(?:\\\\.[^\"\\\\]*+)*+)\"|(-?\\d+))");
    private static final SecureRandom RANDOM = new SecureRandom();
    static LongSupplier clock = System::currentTimeMillis, nanos = System::nanoTime; // tests set others
    public static class SnowfenceException extends RuntimeException { SnowfenceException(String why) { super(why); } } // none any more
    public static class Unavailable extends SnowfenceException { Unavailable(String why) { super(why); } } // now: ask again
    static class Gone extends SnowfenceException { Gone(String why) { super(why); } } // the lease is; another one is claimed

    /** A lease as its borrower knows it. It does no I/O. The times sent, came and now are milliseconds of the monotonic clock, rounded
     * so that no bound seems older than it is: came up, sent down. */
    static final class Held {
        final long worker, floor, unit, epoch, sequences, maxBehind;
        final int timeShift, sequenceShift, randomShift, randomBits;
        final BigInteger base; final String form;
        String lease, mark = ""; // the mark of an extension under way
        long window, after, loss, sent, came, usable, pending, highest; // highest is the highest wall clock
        long tick, sequence = -1, slot; // the last slot that was stamped, and where the next id is taken from
        volatile boolean left; LongSupplier random = RANDOM::nextLong; // left: nothing is stamped any more

        Held(Map<String, String> answer, long sent, long came) {
            worker = number(answer, "worker"); floor = tick = number(answer, "floor");
            unit = number(answer, "unit_us"); epoch = number(answer, "epoch_ms") * 1000;
            sequences = 1L << number(answer, "sequence_bits"); maxBehind = number(answer, "max_behind_ms") * 1000;
            timeShift = (int) number(answer, "time_shift"); sequenceShift = (int) number(answer, "sequence_shift");
            randomBits = Integer.parseInt(answer.getOrDefault("random_bits", "0"));
            randomShift = Integer.parseInt(answer.getOrDefault("random_shift", "0"));
            base = new BigInteger(answer.get("base")); form = answer.get("form");
            this.sent = sent; take(answer, came);
            if (!base.or(at(floor, timeShift)).equals(new BigInteger(answer.get("check"))))
                throw new SnowfenceException("the daemon builds ids in another way: copy the current Snowfence.java");
        }
        static long number(Map<String, String> answer, String name) { return Long.parseLong(answer.get(name)); }
        private static BigInteger at(long number, int shift) { return BigInteger.valueOf(number).shiftLeft(shift); }
        private void take(Map<String, String> answer, long now) {
            long until = number(answer, "until"), width = number(answer, "window_ms"), third = number(answer, "extend_after_ms");
            loss = Math.max(loss, number(answer, "loss_ms"));
            // A bound that was as old as the store's loss when its extension was first sent can't be lost any more.
            if (pending > 0 && sent >= came + loss) usable = Math.max(usable, pending);
            if (loss > 0) pending = until; else usable = until; // the loss never comes down
            lease = answer.get("lease"); window = width; after = third; came = now;
        }

        void extend(long now, String newMark) { if (mark.isEmpty()) { sent = now; mark = newMark; } } // later tries change nothing
        long due() { return Math.max(usable > 0 ? sent + after : 0, pending > 0 ? came + loss : 0); } // when the next extension is sent
        long nextTick() { return sequence < 0 ? tick : tick + 1; } // the lowest tick that was never stamped

        /** Takes the first answer with the extension's mark, and returns false for every other one. */
        boolean answered(Map<String, String> answer, long now) {
            if (mark.isEmpty() || !mark.equals(answer.get("mark"))) return false;
            if (number(answer, "worker") != worker || number(answer, "floor") != floor) throw new Gone("it is another worker id's");
            take(answer, now); mark = ""; return true;
        }

        /** Stamps up to so many slots of one tick for the wall clock in microseconds, and returns how many. */
        int stamp(long wall, int most) {
            highest = Math.max(highest, wall);
            left |= wall < highest - maxBehind; // another worker id is better than a long wait
            long at = Math.floorDiv(wall - epoch, unit), next = 0;
            boolean full = sequence + 1 >= sequences;
            if (at <= tick) { at = full ? tick + 1 : tick; next = full ? 0 : sequence + 1; } // a clock behind the last tick
            if (left || at >= usable || at * unit + epoch > wall + maxBehind) return 0;
            int count = (int) Math.min(most, sequences - next);
            tick = at; slot = next; sequence = next + count - 1; return count;
        }

        long id() { // of the next slot that was stamped
            if (!form.equals("decimal")) throw new SnowfenceException("ids of this layout are texts: call nextText or fillText");
            return base.longValue() | tick << timeShift | slot++ << sequenceShift;
        }

        String text() {
            if (form.equals("decimal")) return Long.toString(id());
            BigInteger id = base.or(at(tick, timeShift)).or(at(slot++, sequenceShift));
            if (randomBits > 0) id = id.or(at(random.getAsLong() >>> 64 - randomBits, randomShift));
            if (!form.equals("uuid")) return String.format("%0" + form.substring(3) + "x", id);
            return String.format("%032x", id).replaceFirst("(.{8})(.{4})(.{4})(.{4})", "$1-$2-$3-$4-");
        }
    }

    private final List<String> urls; private final String path, token, who; // who begins each request
    private final Thread hook = new Thread(this::close);
    private Thread thread; // it does all exchanges, one at a time
    private volatile String closed = "", problem = "the first claim has no answer yet"; // closed says why
    Held held; private int at; // at is the daemon that is asked

    private Snowfence(List<String> urls, String generator, String token, String program) {
        String[] vm = java.lang.management.ManagementFactory.getRuntimeMXBean().getName().split("@", 2); // the process and the host
        this.urls = List.copyOf(urls); this.token = token;
        this.path = "/v1/generators/" + URLEncoder.encode(generator, StandardCharsets.UTF_8) + "/leases";
        String name = program == null ? "" : program.replaceAll("[^ -~]|['\"\\\\]", "_");
        this.who = "{'pid':'" + vm[0] + "','host':'" + vm[1] + "','program':'" + name + "'";
        Runtime.getRuntime().addShutdownHook(hook);
    }

    /** Returns the ids of a generator. Each URL is of a daemon on the same store. Token and program may be null. */
    public static Snowfence open(List<String> urls, String generator, String token, String program) {
        return new Snowfence(urls, generator, token, program);
    }

    /** Returns an id, in a second at most. */
    public long next() { return fill(1, 1000)[0]; }
    public String nextText() { return fillText(1, 1000)[0]; }
    /** Returns n ids that rise. It waits for so many milliseconds at most, and throws Unavailable then. */
    public long[] fill(int n, long wait) { long[] ids = new long[n]; take(n, wait, i -> ids[i] = held.id()); return ids; }
    public String[] fillText(int n, long wait) { String[] ids = new String[n]; take(n, wait, i -> ids[i] = held.text()); return ids; }

    private synchronized void take(int n, long wait, IntConsumer put) {
        int got = 0;
        for (long end = now() + wait; ; rest(10)) {
            if (!closed.isEmpty()) throw new SnowfenceException(closed);
            for (int count = 1; count > 0 && held != null && got < n; got += count) {
                count = held.stamp(clock.getAsLong() * 1000, n - got);
                for (int i = got; i < got + count; i++) put.accept(i);
            }
            if (got == n) return;
            String why = problem.isEmpty() ? "no bound is confirmed yet, or this machine's clock is behind the last id" : problem;
            if (now() >= end) throw new Unavailable("no id within " + wait + " ms, ask again: " + why);
            if (thread == null || !thread.isAlive()) start();
            notifyAll(); // the clock may have stepped back
        }
    }

    /** Makes no more ids, and gives the worker id back. It waits for that for 5 s at most. */
    @Override public synchronized void close() {
        if (closed.isEmpty()) closed = "the ids were closed: open them again"; // nothing is stamped from here on
        notifyAll();
        for (long end = now() + 5000; thread != null && thread.isAlive() && now() < end; ) rest(10);
        try { if (Thread.currentThread() != hook) Runtime.getRuntime().removeShutdownHook(hook); } catch (IllegalStateException e) {
            // this is another hook's call
        }
    }

    /** Leaves the lease to the process of which this one is an image. */
    public synchronized void reset() { held = null; thread = null; } // the old thread finds that, and ends
    private boolean mine() { return thread == Thread.currentThread(); }
    private synchronized boolean goesOn(boolean last) { return mine() && (last || !ends()); }
    private synchronized boolean drop(Held lease) { if (held == lease) held = null; return true; }
    private boolean ends() { return !closed.isEmpty() || held != null && held.left; }
    private void start() { thread = new Thread(this::run, "snowfence"); thread.setDaemon(true); thread.start(); }
    private synchronized int patience() { return held == null ? 10000 : (int) Math.min(Math.max(held.window / 6, 1000), 10000); }
    private static long now() { return Math.floorDiv(nanos.getAsLong(), 1_000_000L); }
    private static String mark() { return String.format("%016x", RANDOM.nextLong()); }

    private void rest(long ms) {
        try { wait(Math.max(ms, 1)); } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new Unavailable("the thread was interrupted");
        }
    }

    private void run() {
        for (long pause = 0; ; ) {
            Held lease; boolean ends;
            synchronized (this) {
                lease = held;
                long end = lease != null && lease.mark.isEmpty() ? lease.due() : now() + (long) (pause * (0.5 + Math.random() / 2));
                while (mine() && !ends() && now() < end) rest(end - now());
                ends = ends();
                if (!mine() || ends && lease == null) return;
            }
            // A claim whose answer was lost costs a worker id for a window, so claims are rarer.
            pause = step(lease, ends) || lease != held ? 0 : lease != null ? Math.min(2 * pause + 250, 5000) : Math.min(2 * pause + 1000, 30000);
        }
    }

    private boolean step(Held lease, boolean ends) { // it claims, extends or releases
        long sent = now();
        if (lease == null) return askAll("POST", "", "", (answer, came) -> (held = new Held(answer, sent, came)) != null, false);
        String end = "/" + lease.worker, key = ",'lease':'" + lease.lease + "','mark':'";
        if (ends) {
            key += mark() + "','next':'" + lease.nextTick() + "','open':'" + lease.mark + "'";
            askAll("POST", end + "/release", key, (answer, came) -> true, true);
            return drop(lease); // if no daemon has answered, the worker id rests for a window
        }
        lease.extend(sent, mark());
        boolean done = askAll("PUT", end, key + lease.mark + "'", lease::answered, false);
        if (!done && now() > lease.came + 2 * lease.window) lease.left = true; // its bound has passed long since
        return done;
    }

    /** Asks one daemon after the other until an answer is accepted. */
    private boolean askAll(String verb, String end, String body, BiPredicate<Map<String, String>, Long> accept, boolean last) {
        for (int i = 0; i < urls.size() && goesOn(last); i++) {
            Held lease = held;
            try {
                Map<String, String> answer = ask(urls.get(at % urls.size()).replaceFirst("/+$", "") + path + end, verb, body);
                synchronized (this) {
                    if (!mine()) return false;
                    if (!accept.test(answer, now() + 1)) throw new IOException("the answer is to another request");
                }
                problem = ""; return true;
            } catch (SnowfenceException e) {
                problem = e.getMessage();
                if (!(e instanceof Gone)) closed = problem;
                return !drop(lease);
            } catch (IOException | RuntimeException e) { // it ends no lease, and another daemon may do better
                problem = urls.get(at++ % urls.size()) + ": " + e.getMessage();
            }
        }
        return false;
    }

    private Map<String, String> ask(String url, String verb, String body) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) URI.create(url).toURL().openConnection(Proxy.NO_PROXY);
        byte[] sent = (who + body + ",'now':" + clock.getAsLong() + "}").replace('\'', '"').getBytes(StandardCharsets.UTF_8);
        connection.setConnectTimeout(patience()); connection.setReadTimeout(patience());
        connection.setRequestMethod(verb); connection.setDoOutput(true); connection.setInstanceFollowRedirects(false);
        connection.setRequestProperty("Content-Type", "application/json");
        connection.setRequestProperty("Connection", "close"); // java.net.http would keep it
        connection.setFixedLengthStreamingMode(sent.length); // otherwise a request is repeated when its connection breaks
        if (token != null) connection.setRequestProperty("Authorization", "Bearer " + token);
        try {
            connection.getOutputStream().write(sent);
            int status = connection.getResponseCode();
            String type = String.valueOf(connection.getContentType()).split(";")[0];
            InputStream in = status < 400 ? connection.getInputStream() : connection.getErrorStream();
            String text = in == null ? "" : new String(in.readNBytes(1 << 16), StandardCharsets.UTF_8).strip();
            Map<String, String> answer = text.startsWith("{") && text.endsWith("}") ? parse(text) : Map.of();
            if (status == 200 && type.equals("application/json")) return answer;
            String refused = status == 401 ? "the token is missing or wrong" : "this is no answer of a daemon"; // the body of 401 is lost
            String detail = answer.getOrDefault("detail", refused);
            if (type.equals("application/problem+json") && answer.getOrDefault("type", "").matches(GONE)) throw new Gone(detail);
            throw new IOException(detail + " (status " + status + ")");
        } finally { connection.disconnect(); }
    }

    static Map<String, String> parse(String text) { // a flat object of texts and whole numbers
        return FIELD.matcher(text).results().collect(Collectors.toMap(field -> field.group(1),
            field -> field.group(2) == null ? field.group(3) : field.group(2).replace("\\\"", "\"")));
    }
}
