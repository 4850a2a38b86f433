package steelyard.cassandra;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.management.MBeanServerConnection;
import javax.management.NotificationListener;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;
import javax.rmi.ssl.SslRMIClientSocketFactory;

/** One node's management interface. Its names are those of Cassandra 5.0's MBeans. */
final class Management implements AutoCloseable {
  static final String TEXT = "java.lang.String";
  static final String TEXTS = "[Ljava.lang.String;";
  private static final List<String> OWN = List.of("system_auth", "system_distributed", "system_traces");
  private static final String REGISTRY = "com.sun.jndi.rmi.factory.socket";  // how the node's entry there is looked up
  private static final String STORAGE = "org.apache.cassandra.db:type=StorageService";

  private final JMXConnector connector;
  private final MBeanServerConnection server;

  Management(String address, Settings settings) throws IOException {
    String where = "service:jmx:rmi:///jndi/rmi://" + address + ":" + settings.jmxPort() + "/jmxrmi";
    String[] login = {Settings.USER, settings.secret("jmx")};
    Map<String, Object> ways = Map.of(JMXConnector.CREDENTIALS, login, REGISTRY, new SslRMIClientSocketFactory());
    connector = JMXConnectorFactory.connect(new JMXServiceURL(where), ways);
    server = connector.getMBeanServerConnection();
  }

  Object storage(String attribute) throws Exception {
    return get(STORAGE, attribute);
  }

  /** Several at once; one that the node cannot tell yet is missing. */
  Map<String, Object> storage(List<String> attributes) throws Exception {
    Map<String, Object> found = new HashMap<>();
    String[] names = attributes.toArray(String[]::new);
    server.getAttributes(new ObjectName(STORAGE), names).asList().forEach(one -> found.put(one.getName(), one.getValue()));
    return found;
  }

  Object get(String bean, String attribute) throws Exception {
    return server.getAttribute(new ObjectName(bean), attribute);
  }

  Object invoke(String operation, Object[] values, String... types) throws Exception {
    return call(STORAGE, operation, values, types);
  }

  Object call(String bean, String operation, Object[] values, String... types) throws Exception {
    return server.invoke(new ObjectName(bean), operation, values, types);
  }

  /** An operation on each of these keyspaces, with all of their tables. */
  void onKeyspaces(String operation, Iterable<String> keyspaces) throws Exception {
    for (String keyspace : keyspaces) {
      invoke(operation, new Object[] {keyspace, new String[0]}, TEXT, TEXTS);
    }
  }

  /** Those of users: what Cassandra keeps for itself is not theirs. */
  List<String> keyspaces() throws Exception {
    List<String> found = new ArrayList<>();
    for (Object name : (Iterable<?>) storage("NonSystemKeyspaces")) {
      if (!OWN.contains(name)) {
        found.add(String.valueOf(name));
      }
    }
    return found;
  }

  /** Hear what the node says of what it does, until this is closed. */
  void listen(NotificationListener listener) throws Exception {
    server.addNotificationListener(new ObjectName(STORAGE), listener, null, null);
  }

  /** See {@link RolesMBean}. */
  void createRole(String user, String password) throws Exception {
    call(Roles.NAME, "create", new Object[] {user, password}, TEXT, TEXT);
  }

  void define(String statement) throws Exception {
    call(Roles.NAME, "define", new Object[] {statement}, TEXT);
  }

  void openForClients() throws Exception {
    invoke("startNativeTransport", new Object[0]);
  }

  @Override
  public void close() throws IOException {
    connector.close();
  }
}
