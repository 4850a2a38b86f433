package steelyard.cassandra;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import javax.net.ssl.SSLSocketFactory;

/**
 * A connection for a few statements: CQL binary protocol, version 4, as its specification says
 * (https://github.com/apache/cassandra/blob/trunk/doc/native_protocol_v4.spec). A driver would cost a second of CPU for
 * two statements.
 */
final class Cql implements AutoCloseable {
  private static final int PROTOCOL = 4;
  private static final int TIMEOUT_MS = 10_000;
  private static final int PATIENCE_MS = 120_000;
  private static final int ERROR = 0x00;
  private static final int STARTUP = 0x01;
  private static final int AUTHENTICATE = 0x03;
  private static final int QUERY = 0x07;
  private static final int AUTH_RESPONSE = 0x0F;
  private static final int ONE_TABLE = 0x01;
  private static final int QUORUM = 0x0004;

  private final Socket socket;
  private final DataInputStream in;
  private final DataOutputStream out;
  private byte[] answer = new byte[0];

  /** As the role of clients, to the first node. */
  Cql(Settings settings) throws IOException {
    socket = settings.encrypted() ? SSLSocketFactory.getDefault().createSocket() : new Socket();
    try {
      socket.connect(new InetSocketAddress(settings.addresses().get(0), settings.nativePort()), TIMEOUT_MS);
      socket.setSoTimeout(TIMEOUT_MS);
      in = new DataInputStream(socket.getInputStream());
      out = new DataOutputStream(socket.getOutputStream());
      login(Settings.USER, settings.secret("client"));
    } catch (IOException error) {
      socket.close();
      throw error;
    }
  }

  /** For statements that take their time, as those that change tables on all nodes. */
  Cql patient() throws IOException {
    socket.setSoTimeout(PATIENCE_MS);
    return this;
  }

  void run(String statement) throws IOException {
    query(statement);
  }

  /** The last column of all rows that a statement answers with; all of its columns are texts. */
  List<String> texts(String statement) throws IOException {
    return rows(statement).stream().map(row -> row.get(row.size() - 1)).toList();
  }

  /** All rows that a statement answers with; all of their columns are texts. */
  List<List<String>> rows(String statement) throws IOException {
    DataInputStream answer = new DataInputStream(new ByteArrayInputStream(query(statement)));
    answer.readInt();
    boolean oneTable = (answer.readInt() & ONE_TABLE) != 0;
    int columns = answer.readInt();
    for (int names = 0; names < (oneTable ? 2 : 0); names++) {
      skip(answer);
    }
    for (int column = 0; column < columns; column++) {
      for (int names = 0; names < (oneTable ? 1 : 3); names++) {
        skip(answer);
      }
      answer.readShort();
    }
    return values(answer, columns);
  }

  private static void skip(DataInputStream answer) throws IOException {
    answer.skipNBytes(answer.readUnsignedShort());
  }

  private static List<List<String>> values(DataInputStream answer, int columns) throws IOException {
    List<List<String>> found = new ArrayList<>();
    for (int left = answer.readInt(); left > 0; left--) {
      List<String> row = new ArrayList<>();
      while (row.size() < columns) {
        row.add(new String(answer.readNBytes(Math.max(0, answer.readInt())), StandardCharsets.UTF_8));
      }
      found.add(row);
    }
    return found;
  }

  private byte[] query(String statement) throws IOException {
    Body body = new Body();
    byte[] text = statement.getBytes(StandardCharsets.UTF_8);
    body.data.writeInt(text.length);
    body.data.write(text);
    body.data.writeShort(QUORUM);
    body.data.writeByte(0);
    ask(QUERY, body);
    return answer;
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }

  private void login(String user, String password) throws IOException {
    Body options = new Body();
    options.data.writeShort(1);
    options.text("CQL_VERSION").text("3.0.0");
    if (ask(STARTUP, options) != AUTHENTICATE) {
      return;
    }
    byte[] words = ("\0" + user + "\0" + password).getBytes(StandardCharsets.UTF_8);
    Body token = new Body();
    token.data.writeInt(words.length);
    token.data.write(words);
    ask(AUTH_RESPONSE, token);
  }

  /** The kind of the answer. */
  private int ask(int operation, Body body) throws IOException {
    out.writeByte(PROTOCOL);
    out.writeByte(0);
    out.writeShort(0);
    out.writeByte(operation);
    out.writeInt(body.bytes.size());
    body.bytes.writeTo(out);
    out.flush();
    in.readFully(new byte[4]);
    int kind = in.readUnsignedByte();
    answer = new byte[in.readInt()];
    in.readFully(answer);
    if (kind == ERROR) {
      throw new IOException(new String(answer, 6, answer.length - 6, StandardCharsets.UTF_8));
    }
    return kind;
  }

  /** What a request says. */
  private static final class Body {
    final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    final DataOutputStream data = new DataOutputStream(bytes);

    Body text(String text) throws IOException {
      byte[] found = text.getBytes(StandardCharsets.UTF_8);
      data.writeShort(found.length);
      data.write(found);
      return this;
    }
  }
}
