package steelyard.ycsb;

import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * What all bindings share: their properties, and how failures are told.
 *
 * <p>Properties: {@code servers} (address:port,address:port), {@code user}, {@code password_file},
 * {@code database}, {@code operation_timeout} (milliseconds), and YCSB's own. A password stands in that file or
 * in the variable YCSB_PASSWORD, never in a property, because command lines are public and recorded. Servers that are reached
 * by TLS are signed by the authority whose certificate is in YCSB_AUTHORITY, as PEM.
 */
public abstract class Binding extends DB {
  /** The variable with the certificate of the servers' authority. */
  static final String AUTHORITY = "YCSB_AUTHORITY";

  private static final int MOST_COMPLAINTS = 5;
  private static final AtomicInteger COMPLAINTS = new AtomicInteger();

  /** Connect; called once in each client thread. */
  abstract void connect() throws Exception;

  /** Let go of what {@code connect} made; called once in each client thread. */
  abstract void disconnect() throws Exception;

  /** Make the table where the store wants one, and empty it; nothing else uses it meanwhile. */
  abstract void create() throws Exception;

  /** YCSB takes a client that cannot connect for one with nothing to do, and ends with 0. */
  @Override
  public void init() throws DBException {
    try {
      connect();
    } catch (Exception error) {
      System.err.println("cannot use " + property("servers", "") + ": " + reason(error));
      System.exit(1);
    }
  }

  @Override
  public void cleanup() throws DBException {
    try {
      disconnect();
    } catch (Exception error) {
      throw new DBException(error);
    }
  }

  String property(String name, String otherwise) {
    return getProperties().getProperty(name, otherwise);
  }

  int number(String name, int otherwise) {
    return Integer.parseInt(property(name, Integer.toString(otherwise)));
  }

  String table() {
    return property("table", "usertable");
  }

  int threads() {
    return number("threadcount", 1);
  }

  Duration timeout() {
    return Duration.ofMillis(number("operation_timeout", 10_000));
  }

  List<Server> servers() {
    List<Server> found = new ArrayList<>();
    for (String text : property("servers", "").split(",")) {
      found.add(Server.parse(text));
    }
    return found;
  }

  /** The names of all fields, in order. */
  List<String> fields() {
    return IntStream.range(0, number("fieldcount", 10)).mapToObj(n -> "field" + n).toList();
  }

  /** Null where the store asks for none. */
  String password() throws Exception {
    String file = property("password_file", "");
    return file.isEmpty() ? System.getenv("YCSB_PASSWORD") : Files.readString(Path.of(file)).strip();
  }

  /** TLS with servers that this authority has signed, and no others; null where they are not reached by TLS. */
  SSLContext encryption() throws Exception {
    String authority = System.getenv(AUTHORITY);
    if (authority == null) {
      return null;
    }
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    InputStream pem = new ByteArrayInputStream(authority.getBytes(StandardCharsets.US_ASCII));
    store.setCertificateEntry("authority", CertificateFactory.getInstance("X.509").generateCertificate(pem));
    TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(store);
    SSLContext found = SSLContext.getInstance("TLS");
    found.init(null, trust.getTrustManagers(), null);
    return found;
  }

  /** What one operation does. */
  interface Operation {
    Status run() throws Exception;
  }

  /** The status of an operation, also of one that throws. */
  static Status attempt(Operation operation) {
    try {
      return operation.run();
    } catch (Exception error) {
      return failed(error);
    }
  }

  /** The status of an operation that threw; the first few reasons are told, all are counted by YCSB. */
  private static Status failed(Exception error) {
    if (COMPLAINTS.getAndIncrement() < MOST_COMPLAINTS) {
      System.err.println("operation failed: " + reason(error));
    }
    return Status.ERROR;
  }

  static String reason(Throwable error) {
    Throwable cause = error.getCause();
    String because = cause == null || cause == error ? "" : ", because " + reason(cause);
    return error.getClass().getSimpleName() + ": " + error.getMessage() + because;
  }

  static Binding of(Properties properties) throws Exception {
    Class<?> kind = Class.forName(properties.getProperty("db"));
    Binding made = (Binding) kind.getDeclaredConstructor().newInstance();
    made.setProperties(properties);
    return made;
  }
}
