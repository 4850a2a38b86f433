package steelyard.ycsb;

import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import net.rubyeye.xmemcached.CASOperation;
import net.rubyeye.xmemcached.MemcachedClient;
import net.rubyeye.xmemcached.XMemcachedClientBuilder;
import net.rubyeye.xmemcached.auth.AuthInfo;
import net.rubyeye.xmemcached.command.BinaryCommandFactory;
import site.ycsb.ByteIterator;
import site.ycsb.Status;

/**
 * memcached; keys are spread over all servers.
 *
 * <p>A record is one value, so an update of a field reads, changes and writes it by compare-and-swap. There are
 * no scans, and nothing lists the keys: {@code create} leaves what is there. With a password, SASL by the binary
 * protocol.
 */
public final class Memcached extends Binding {
  private static final int MOST_CONNECTIONS = 16; // to each server; each serves several threads
  private static final int MOST_TRIES = 100;
  private static final Shared<Client> SHARED = new Shared<>();

  private MemcachedClient memcached;

  private record Client(MemcachedClient client) implements AutoCloseable {
    @Override
    public void close() throws Exception {
      client.shutdown();
    }
  }

  @Override
  void connect() throws Exception {
    memcached = SHARED.join(this::opened).client();
  }

  @Override
  void create() {
    // Loading writes every record anew.
  }

  @Override
  public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
    return attempt(() -> {
      byte[] value = memcached.get(name(key));
      if (value == null) {
        return Status.NOT_FOUND;
      }
      Value.unpacked(value).forEach((field, content) -> {
        if (fields == null || fields.contains(field)) {
          result.put(field, content);
        }
      });
      return Status.OK;
    });
  }

  @Override
  public Status scan(
      String table, String start, int count, Set<String> fields, Vector<HashMap<String, ByteIterator>> result) {
    return Status.NOT_IMPLEMENTED;
  }

  @Override
  public Status update(String table, String key, Map<String, ByteIterator> values) {
    Map<String, byte[]> changes = Value.contents(values);
    return attempt(() -> {
      if (memcached.get(name(key)) == null) {
        return Status.NOT_FOUND; // compare-and-swap would throw
      }
      return memcached.cas(name(key), new Change(changes)) ? Status.OK : Status.ERROR;
    });
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    byte[] value = Value.packed(Value.contents(values));
    return attempt(() -> memcached.set(name(key), 0, value) ? Status.OK : Status.ERROR);
  }

  @Override
  public Status delete(String table, String key) {
    return attempt(() -> memcached.delete(name(key)) ? Status.OK : Status.NOT_FOUND);
  }

  @Override
  void disconnect() throws Exception {
    SHARED.leave();
  }

  private record Change(Map<String, byte[]> changes) implements CASOperation<byte[]> {
    @Override
    public int getMaxTries() {
      return MOST_TRIES;
    }

    @Override
    public byte[] getNewValue(long version, byte[] present) {
      Map<String, byte[]> merged = Value.contents(Value.unpacked(present));
      merged.putAll(changes);
      return Value.packed(merged);
    }
  }

  private Client opened() throws Exception {
    List<Server> servers = servers();
    XMemcachedClientBuilder builder = new XMemcachedClientBuilder(servers.stream().map(Server::resolved).toList());
    builder.setConnectionPoolSize(Math.min(threads(), MOST_CONNECTIONS));
    builder.setOpTimeout(timeout().toMillis());
    String password = password();
    if (password != null) {
      builder.setCommandFactory(new BinaryCommandFactory());
      AuthInfo who = AuthInfo.plain(property("user", "ycsb"), password);
      servers.forEach(server -> builder.addAuthInfo(server.resolved(), who));
    }
    MemcachedClient client = builder.build();
    int answering = client.getVersions().size();
    if (answering < servers.size()) {
      client.shutdown();
      throw new IOException("only " + answering + " of " + servers.size() + " servers answer");
    }
    return new Client(client);
  }

  private String name(String key) {
    return table() + ":" + key;
  }
}
