package steelyard.cassandra;

import java.io.IOException;
import java.io.ObjectInputFilter;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.rmi.AccessException;
import java.rmi.Remote;
import java.rmi.RemoteException;
import java.rmi.registry.Registry;
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
import javax.security.auth.Subject;
import org.apache.cassandra.service.CassandraDaemon;
import sun.rmi.registry.RegistryImpl;

/**
 * {@code Node ADDRESS PORT PASSWORD_FILE OTHER...}: a node of Cassandra, of a ring with these others, that is managed by JMX
 * on one address and one port, by whoever knows the password.
 *
 * <p>Java's own {@code com.sun.management.jmxremote.port} opens a second port, on all addresses, as well.
 */
public final class Node {
  private static Registry registry;  // held, or it is collected

  private Node() {}

  public static void main(String[] words) throws Exception {
    manage(InetAddress.getByName(words[0]), Integer.parseInt(words[1]), Files.readString(Path.of(words[2])).strip());
    Tables.register();
    Writes.register();
    Statements.register();
    CassandraDaemon.main(new String[0]);
    Gossip.meet(List.of(words).subList(3, words.length));
  }

  private static void manage(InetAddress address, int port, String password) throws IOException {
    RMIServerSocketFactory sockets = new OnOneAddress(address);
    Map<String, Object> environment = new HashMap<>();
    environment.put(RMIConnectorServer.CREDENTIALS_FILTER_PATTERN, "java.lang.String;!*");
    environment.put("jmx.remote.authenticator", (JMXAuthenticator) words -> admitted(words, password));
    RMIJRMPServerImpl server = new RMIJRMPServerImpl(port, null, sockets, environment);
    JMXServiceURL url = new JMXServiceURL("rmi", address.getHostAddress(), port);
    new RMIConnectorServer(url, environment, server, ManagementFactory.getPlatformMBeanServer()).start();
    registry = new OneEntry(port, sockets, server.toStub());
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

  /**
   * What everybody may read and nobody change. Into Java's plain one any user of this machine can put an object of his
   * own, to which the password would be sent.
   */
  private static final class OneEntry extends RegistryImpl {
    private static final long serialVersionUID = 1L;
    private final transient Remote entry;

    OneEntry(int port, RMIServerSocketFactory sockets, Remote entry) throws RemoteException {
      super(port, null, sockets, info -> ObjectInputFilter.Status.UNDECIDED);
      this.entry = entry;
    }

    @Override
    public Remote lookup(String name) {
      return entry;
    }

    @Override
    public String[] list() {
      return new String[] {"jmxrmi"};
    }

    @Override
    public void bind(String name, Remote other) throws AccessException {
      throw new AccessException("read only");
    }

    @Override
    public void rebind(String name, Remote other) throws AccessException {
      throw new AccessException("read only");
    }

    @Override
    public void unbind(String name) throws AccessException {
      throw new AccessException("read only");
    }
  }

  /** Equal ones share a port. */
  private record OnOneAddress(InetAddress address) implements RMIServerSocketFactory {
    @Override
    public ServerSocket createServerSocket(int port) throws IOException {
      return new ServerSocket(port, 50, address);
    }
  }
}
