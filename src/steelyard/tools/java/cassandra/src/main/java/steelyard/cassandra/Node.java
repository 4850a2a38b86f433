package steelyard.cassandra;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.rmi.registry.LocateRegistry;
import java.rmi.server.RMIServerSocketFactory;
import java.security.MessageDigest;
import java.util.HashMap;
import java.util.Map;
import javax.management.remote.JMXAuthenticator;
import javax.management.remote.JMXConnectorServerFactory;
import javax.management.remote.JMXPrincipal;
import javax.management.remote.JMXServiceURL;
import javax.management.remote.rmi.RMIConnectorServer;
import javax.security.auth.Subject;
import org.apache.cassandra.service.CassandraDaemon;

/**
 * {@code Node ADDRESS PORT PASSWORD_FILE}: a node of Cassandra that is managed by JMX on one address and one port, by
 * whoever knows the password.
 *
 * <p>Java's own {@code com.sun.management.jmxremote.port} opens a second port, on all addresses, as well.
 */
public final class Node {
  private Node() {}

  public static void main(String[] words) throws Exception {
    manage(InetAddress.getByName(words[0]), Integer.parseInt(words[1]), Files.readString(Path.of(words[2])).strip());
    CassandraDaemon.main(new String[0]);
  }

  private static void manage(InetAddress address, int port, String password) throws IOException {
    RMIServerSocketFactory sockets = new OnOneAddress(address);
    LocateRegistry.createRegistry(port, null, sockets);
    Map<String, Object> environment = new HashMap<>();
    environment.put(RMIConnectorServer.RMI_SERVER_SOCKET_FACTORY_ATTRIBUTE, sockets);
    environment.put(RMIConnectorServer.CREDENTIALS_FILTER_PATTERN, "java.lang.String;!*");
    environment.put("jmx.remote.authenticator", (JMXAuthenticator) words -> admitted(words, password));
    String where = address.getHostAddress() + ":" + port;
    JMXServiceURL url = new JMXServiceURL("service:jmx:rmi://" + where + "/jndi/rmi://" + where + "/jmxrmi");
    JMXConnectorServerFactory.newJMXConnectorServer(url, environment, ManagementFactory.getPlatformMBeanServer()).start();
  }

  private static Subject admitted(Object words, String password) {
    boolean right = words instanceof String[] pair
        && pair.length == 2
        && Settings.USER.equals(pair[0])
        && MessageDigest.isEqual(bytes(pair[1]), bytes(password));
    if (!right) {
      throw new SecurityException("wrong name or password");
    }
    Subject subject = new Subject();
    subject.getPrincipals().add(new JMXPrincipal(Settings.USER));
    return subject;
  }

  private static byte[] bytes(String text) {
    return String.valueOf(text).getBytes(StandardCharsets.UTF_8);
  }

  /** Equal ones share a port. */
  private record OnOneAddress(InetAddress address) implements RMIServerSocketFactory {
    @Override
    public ServerSocket createServerSocket(int port) throws IOException {
      return new ServerSocket(port, 50, address);
    }
  }
}
