package steelyard.ycsb;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;
import redis.clients.jedis.AbstractPipeline;
import redis.clients.jedis.Connection;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisCluster;
import redis.clients.jedis.JedisPooled;
import redis.clients.jedis.Response;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.params.ScanParams;
import redis.clients.jedis.resps.ScanResult;
import redis.clients.jedis.util.Pool;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.Status;

/**
 * Redis 4 or newer, one server or a cluster.
 *
 * <p>A record is the hash {@code usertable:KEY}. For scans, {@code usertable} is a sorted set of all keys, which is
 * kept only where {@code redis.index} is true: in a cluster it lies on one node. {@code redis.cluster} is true for
 * a cluster.
 */
public final class Redis extends Binding {
  private static final int PAGE = 1000;
  private static final int ATTEMPTS = 5;
  private static final Shared<UnifiedJedis> SHARED = new Shared<>();

  private UnifiedJedis redis;
  private byte[] index;

  @Override
  void connect() throws Exception {
    redis = SHARED.join(this::opened);
    index = Boolean.parseBoolean(property("redis.index", "false")) ? table().getBytes(UTF_8) : null;
  }

  @Override
  void create() {
    if (redis instanceof JedisCluster cluster) {
      cluster.getClusterNodes().values().forEach(this::empty);
    } else {
      empty(((JedisPooled) redis).getPool());
    }
  }

  @Override
  public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
    return attempt(() -> {
      byte[] name = name(key);
      result.putAll(fields == null ? all(redis.hgetAll(name)) : some(fields, redis.hmget(name, bytes(fields))));
      return result.isEmpty() ? Status.NOT_FOUND : Status.OK;
    });
  }

  @Override
  public Status scan(
      String table, String start, int count, Set<String> fields, Vector<HashMap<String, ByteIterator>> result) {
    return attempt(() -> {
      byte[] first = ("[" + start).getBytes(UTF_8);
      List<byte[]> keys = redis.zrangeByLex(index, first, "+".getBytes(UTF_8), 0, count);
      result.addAll(fields == null ? whole(keys) : parts(keys, fields));
      return Status.OK;
    });
  }

  @Override
  public Status update(String table, String key, Map<String, ByteIterator> values) {
    return attempt(() -> {
      redis.hset(name(key), hash(values));
      return Status.OK;
    });
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    Status done = update(table, key, values);
    return index == null || !done.isOk() ? done : attempt(() -> {
      redis.zadd(index, 0, key.getBytes(UTF_8));
      return Status.OK;
    });
  }

  @Override
  public Status delete(String table, String key) {
    return attempt(() -> {
      if (index != null) {
        redis.zrem(index, key.getBytes(UTF_8));
      }
      return redis.del(name(key)) == 0 ? Status.NOT_FOUND : Status.OK;
    });
  }

  @Override
  void disconnect() throws Exception {
    SHARED.leave();
  }

  private UnifiedJedis opened() throws Exception {
    int milliseconds = (int) timeout().toMillis();
    String user = property("user", "");
    DefaultJedisClientConfig.Builder config =
        DefaultJedisClientConfig.builder()
            .timeoutMillis(milliseconds)
            .user(user.isEmpty() ? null : user)
            .password(password());
    SSLContext encryption = encryption();
    if (encryption != null) {
      SSLParameters checked = new SSLParameters();
      checked.setEndpointIdentificationAlgorithm("HTTPS");  // the address is the server's own, too
      config.ssl(true).sslSocketFactory(encryption.getSocketFactory()).sslParameters(checked);
    }
    GenericObjectPoolConfig<Connection> pool = new GenericObjectPoolConfig<>();
    pool.setMaxTotal(threads());
    pool.setMaxIdle(threads());
    List<HostAndPort> servers = servers().stream().map(at -> new HostAndPort(at.address(), at.port())).toList();
    UnifiedJedis made =
        Boolean.parseBoolean(property("redis.cluster", "false"))
            ? new JedisCluster(new HashSet<>(servers), config.build(), ATTEMPTS, pool)
            : new JedisPooled(pool, servers.get(0), config.build());
    made.exists(table());
    return made;
  }

  /** Removes what is ours from a server, a page at a time; replicas of a cluster refuse and follow. */
  private void empty(Pool<Connection> pool) {
    try (Jedis server = new Jedis(pool.getResource())) {
      if (server.info("replication").contains("role:master")) {
        ScanParams ours = new ScanParams().match(table() + ":*").count(PAGE);
        String cursor = ScanParams.SCAN_POINTER_START;
        do {
          ScanResult<String> page = server.scan(cursor, ours);
          page.getResult().forEach(server::unlink);
          cursor = page.getCursor();
        } while (!cursor.equals(ScanParams.SCAN_POINTER_START));
      }
    }
    redis.unlink(table());
  }

  private List<HashMap<String, ByteIterator>> whole(List<byte[]> keys) {
    List<Response<Map<byte[], byte[]>>> asked = new ArrayList<>();
    try (AbstractPipeline pipeline = redis.pipelined()) {
      keys.forEach(key -> asked.add(pipeline.hgetAll(name(new String(key, UTF_8)))));
      pipeline.sync();
    }
    return asked.stream().map(answer -> all(answer.get())).toList();
  }

  private List<HashMap<String, ByteIterator>> parts(List<byte[]> keys, Set<String> fields) {
    List<Response<List<byte[]>>> asked = new ArrayList<>();
    try (AbstractPipeline pipeline = redis.pipelined()) {
      keys.forEach(key -> asked.add(pipeline.hmget(name(new String(key, UTF_8)), bytes(fields))));
      pipeline.sync();
    }
    return asked.stream().map(answer -> some(fields, answer.get())).toList();
  }

  private byte[] name(String key) {
    return (table() + ":" + key).getBytes(UTF_8);
  }

  private static byte[][] bytes(Collection<String> names) {
    return names.stream().map(name -> name.getBytes(UTF_8)).toArray(byte[][]::new);
  }

  private static Map<byte[], byte[]> hash(Map<String, ByteIterator> values) {
    Map<byte[], byte[]> found = new HashMap<>();
    values.forEach((name, value) -> found.put(name.getBytes(UTF_8), value.toArray()));
    return found;
  }

  private static HashMap<String, ByteIterator> all(Map<byte[], byte[]> hash) {
    HashMap<String, ByteIterator> found = new HashMap<>();
    hash.forEach((name, value) -> found.put(new String(name, UTF_8), new ByteArrayByteIterator(value)));
    return found;
  }

  private static HashMap<String, ByteIterator> some(Collection<String> fields, List<byte[]> values) {
    HashMap<String, ByteIterator> found = new HashMap<>();
    int at = 0;
    for (String field : fields) {
      byte[] value = values.get(at++);
      if (value != null) {
        found.put(field, new ByteArrayByteIterator(value));
      }
    }
    return found;
  }
}
