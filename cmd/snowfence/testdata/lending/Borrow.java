import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/** Prints ids, a hundred at a time, minted with a borrowed worker id: java Borrow FILE-OF-THE-OFFSET URL... */
final class Borrow {
    public static void main(String[] args) throws Exception {
        Path offset = Path.of(args[0]);
        Snowfence.clock = () -> {
            try {
                return System.currentTimeMillis() + Long.parseLong(Files.readString(offset));
            } catch (java.io.IOException e) {
                throw new java.io.UncheckedIOException(e);
            }
        };
        List<String> urls = Arrays.asList(args).subList(1, args.length);
        Snowfence ids = Snowfence.open(urls, "default", null, "java");
        PrintStream out = new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), false);
        while (true) {
            try {
                StringBuilder text = new StringBuilder();
                for (long id : ids.fill(100, 1000)) text.append(id).append('\n');
                out.print(text);
                out.flush();
                Thread.sleep(10);
            } catch (Snowfence.Unavailable e) {
                // ask again
            }
        }
    }
}
