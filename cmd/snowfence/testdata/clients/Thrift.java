import java.util.ArrayList;
import org.apache.thrift.TApplicationException;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.transport.TSocket;
import org.apache.thrift.transport.TTransportException;
import org.apache.thrift.transport.layered.TFramedTransport;

// TestClientsConverse describes what every conversation does.
class Thrift {
    public static void main(String[] arguments) throws Exception {
        var transport = new TFramedTransport(new TSocket(arguments[0], Integer.parseInt(arguments[1])));
        var ids = new Snowflake.Client(new TBinaryProtocol(transport));
        transport.open();
        var batch = new ArrayList<String>();
        for (int i = 0; i < Integer.parseInt(arguments[2]); i++) batch.add(Long.toString(ids.get_id("java")));
        System.out.println("batch: " + String.join(" ", batch));
        try {
            ids.get_id("no agent");
        } catch (TApplicationException e) {
            System.out.println("refused: " + e.getMessage());
        }

        System.out.println("cut:");
        System.in.read();
        try {
            ids.get_id("java");
        } catch (TTransportException e) {
            System.out.println("broken: " + e.getMessage());
            transport.close();
            transport.open();
        }
        System.out.println("again: " + ids.get_id("java"));
    }
}
