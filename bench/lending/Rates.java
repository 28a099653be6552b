import java.io.BufferedInputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.util.List;

/** Prints how many ids a second this process makes: java Rates WAY SECONDS HTTP-URL RESP-PORT */
final class Rates {
    interface Call { void run() throws Exception; }

    public static void main(String[] args) throws Exception {
        double seconds = Double.parseDouble(args[1]);
        int port = Integer.parseInt(args[3]), each = args[0].equals("hundred") ? 100 : 1;
        Snowfence ids = args[0].equals("lent") ? Snowfence.open(List.of(args[2]), "default", null, "bench") : null;
        Call call = switch (args[0]) {
            case "lent" -> ids::next;
            case "incr" -> asking(port, "*2\r\n$4\r\nINCR\r\n$7\r\ndefault\r\n", 1);
            default -> asking(port, "*4\r\n$7\r\nID.NEXT\r\n$7\r\ndefault\r\n$5\r\nCOUNT\r\n$3\r\n100\r\n", 201);
        };
        call.run();
        long n = 0, begun = System.nanoTime(), end = begun + (long) (seconds * 1e9);
        while (System.nanoTime() < end) {
            for (int i = 0; i < 100; i++) call.run();
            n += 100L * each;
        }
        System.out.println(n / ((System.nanoTime() - begun) / 1e9));
        if (ids != null) ids.close();
    }

    /** Returns a call that sends a command and reads so many lines. */
    static Call asking(int port, String command, int lines) throws Exception {
        Socket link = new Socket("127.0.0.1", port);
        link.setTcpNoDelay(true);
        OutputStream out = link.getOutputStream();
        InputStream in = new BufferedInputStream(link.getInputStream(), 1 << 16);
        byte[] bytes = command.getBytes();
        return () -> {
            out.write(bytes);
            for (int left = lines; left > 0; ) if (in.read() == '\n') left--;
        };
    }
}
