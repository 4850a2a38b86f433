package steelyard.cassandra;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.rmi.registry.LocateRegistry;
import java.rmi.registry.Registry;
import java.rmi.server.RMIClientSocketFactory;
import java.rmi.server.RMIServerSocketFactory;
import java.security.MessageDigest;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.management.remote.JMXAuthenticator;
import javax.management.remote.JMXPrincipal;
import javax.management.remote.JMXServiceURL;
import javax.management.remote.rmi.RMIConnectorServer;
import javax.management.remote.rmi.RMIJRMPServerImpl;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import javax.rmi.ssl.SslRMIClientSocketFactory;
import javax.security.auth.Subject;
import org.apache.cassandra.service.CassandraDaemon;

/**
 * {@code Node ADDRESS PORT DIRECTORY OTHER...}: a node of Cassandra, of a ring with these others, that is managed by JMX on one
 * address and one port, by whoever is of the ring ({@link Tls}) and knows the password. Both stand in the directory.
 *
 * <p>Java's own {@code com.sun.management.jmxremote.port} opens a second port, on all addresses, as well.
 */
public final class Node {
  private static Registry registry;  // held, or it is collected

  private Node() {}

  public static void main(String[] words) throws Exception {
    manage(InetAddress.getByName(words[0]), Integer.parseInt(words[1]), Path.of(words[2]));
    Tables.register();
    Writes.register();
    Roles.register();
    Statements.register();
    CassandraDaemon.main(new String[0]);
    Gossip.meet(List.of(words).subList(3, words.length));
  }

  private static void manage(InetAddress address, int port, Path directory) throws Exception {
    String password = Files.readString(directory.resolve("jmx.password")).strip();
    RMIServerSocketFactory accepts = new OfTheRing(address, Tls.of(directory));
    RMIClientSocketFactory connects = new SslRMIClientSocketFactory();
    Map<String, Object> environment = new HashMap<>();
    environment.put(RMIConnectorServer.CREDENTIALS_FILTER_PATTERN, "java.lang.String;!*");
    environment.put("jmx.remote.authenticator", (JMXAuthenticator) words -> admitted(words, password));
    RMIJRMPServerImpl server = new RMIJRMPServerImpl(port, connects, accepts, environment);
    JMXServiceURL url = new JMXServiceURL("rmi", address.getHostAddress(), port);
    new RMIConnectorServer(url, environment, server, ManagementFactory.getPlatformMBeanServer()).start();
    registry = LocateRegistry.createRegistry(port, connects, accepts);
    registry.bind("jmxrmi", server.toStub());
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

  /** Listens on one address, for who shows a certificate of the ring's authority. Equal ones share a port. */
  private record OfTheRing(InetAddress address, SSLContext ring) implements RMIServerSocketFactory {
    @Override
    public ServerSocket createServerSocket(int port) throws IOException {
      SSLServerSocket socket = (SSLServerSocket) ring.getServerSocketFactory().createServerSocket(port, 50, address);
      socket.setEnabledProtocols(new String[] {Tls.PROTOCOL});
      socket.setNeedClientAuth(true);
      return socket;
    }
  }
}
