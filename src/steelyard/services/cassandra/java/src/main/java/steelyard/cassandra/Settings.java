package steelyard.cassandra;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import javax.net.ssl.SSLContext;

/**
 * What the service tells about its ring, in files of a directory: {@code ring}, which is written anew whenever it changes,
 * {@code secrets}, which only its owner may read, and those of {@link Tls}. Passwords are in no command line and in no answer.
 *
 * @param generation counts the changes, so that an answer can be told from one that is out of date
 * @param interval milliseconds between two looks at a node
 * @param encrypted whether clients talk to the nodes by TLS
 * @param keyspaces that are to be there when clients are let in, with this {@code replication}
 * @param auth how roles are kept where that must be said, because there are two data centres
 */
record Settings(
    long generation,
    long interval,
    List<String> addresses,
    int jmxPort,
    int nativePort,
    boolean encrypted,
    List<String> keyspaces,
    String replication,
    String auth,
    Properties secrets) {
  static final String USER = "steelyard";

  /** At the beginning of a program, which from then on is of the ring; see {@link Tls}. */
  static Settings begin(Path directory) throws IOException, GeneralSecurityException {
    SSLContext.setDefault(Tls.of(directory));
    return read(directory);
  }

  static Settings read(Path directory) throws IOException {
    Properties ring = properties(directory.resolve("ring"));
    return new Settings(
        Long.parseLong(ring.getProperty("generation")),
        Long.parseLong(ring.getProperty("interval")),
        List.of(ring.getProperty("addresses").split(",")),
        Integer.parseInt(ring.getProperty("jmx_port")),
        Integer.parseInt(ring.getProperty("native_port")),
        Boolean.parseBoolean(ring.getProperty("encrypted")),
        Arrays.stream(ring.getProperty("keyspaces").split(",")).filter(name -> !name.isEmpty()).toList(),
        ring.getProperty("replication"),
        ring.getProperty("auth", ""),
        properties(directory.resolve("secrets")));
  }

  private static Properties properties(Path path) throws IOException {
    Properties found = new Properties();
    try (Reader reader = Files.newBufferedReader(path)) {
      found.load(reader);
    }
    return found;
  }

  /** The password for management, {@code jmx}, or for clients, {@code client}. */
  String secret(String name) {
    return secrets.getProperty(name);
  }
}
