package steelyard.ycsb;

import com.datastax.oss.driver.api.core.ConsistencyLevel;
import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.CqlSessionBuilder;
import com.datastax.oss.driver.api.core.DefaultConsistencyLevel;
import com.datastax.oss.driver.api.core.config.DefaultDriverOption;
import com.datastax.oss.driver.api.core.config.DriverConfigLoader;
import com.datastax.oss.driver.api.core.config.ProgrammaticDriverConfigLoaderBuilder;
import com.datastax.oss.driver.api.core.cql.BoundStatement;
import com.datastax.oss.driver.api.core.cql.PreparedStatement;
import com.datastax.oss.driver.api.core.cql.ResultSet;
import com.datastax.oss.driver.api.core.cql.Row;
import com.datastax.oss.driver.api.core.cql.SimpleStatement;
import com.datastax.oss.driver.api.core.ssl.ProgrammaticSslEngineFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import java.util.concurrent.ConcurrentHashMap;
import javax.net.ssl.SSLContext;
import site.ycsb.ByteIterator;
import site.ycsb.Status;
import site.ycsb.StringByteIterator;

/**
 * Cassandra and what speaks its protocol, version 4 or newer.
 *
 * <p>Properties beside those of all bindings: {@code cql.read_consistency} and {@code cql.write_consistency};
 * {@code cql.datacenter}, by default that of the servers; for {@code create}, {@code cql.replication}.
 */
public final class Cql extends Binding {
  private static final String KEY = "y_id";
  private static final Duration SCHEMA_WITHIN = Duration.ofSeconds(60);
  private static final Shared<CqlSession> SHARED = new Shared<>();
  private static final Map<String, PreparedStatement> PREPARED = new ConcurrentHashMap<>();

  private CqlSession session;
  private ConsistencyLevel reading;
  private ConsistencyLevel writing;

  @Override
  void connect() throws Exception {
    reading = DefaultConsistencyLevel.valueOf(property("cql.read_consistency", "LOCAL_QUORUM"));
    writing = DefaultConsistencyLevel.valueOf(property("cql.write_consistency", "LOCAL_QUORUM"));
    session = SHARED.join(this::opened);
  }

  @Override
  void create() {
    String columns = String.join("", fields().stream().map(name -> ", " + name + " varchar").toList());
    define(
        "CREATE KEYSPACE IF NOT EXISTS " + keyspace() + " WITH replication = {'class': 'NetworkTopologyStrategy',"
            + " 'replication_factor': " + number("cql.replication", 1) + "}");
    define(
        "CREATE TABLE IF NOT EXISTS " + qualified() + " (" + KEY + " varchar PRIMARY KEY" + columns + ")");
    define("TRUNCATE " + qualified());
  }

  @Override
  public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
    String where = " WHERE " + KEY + " = ?";
    return attempt(() -> {
      Row row = run("SELECT " + columns(fields) + " FROM " + qualified() + where, reading, key).one();
      if (row != null) {
        result.putAll(values(row));
      }
      return row == null ? Status.NOT_FOUND : Status.OK;
    });
  }

  @Override
  public Status scan(
      String table, String start, int count, Set<String> fields, Vector<HashMap<String, ByteIterator>> result) {
    String where = " WHERE token(" + KEY + ") >= token(?) LIMIT ?";
    return attempt(() -> {
      run("SELECT " + columns(fields) + " FROM " + qualified() + where, reading, start, count)
          .forEach(row -> result.add(values(row)));
      return Status.OK;
    });
  }

  @Override
  public Status update(String table, String key, Map<String, ByteIterator> values) {
    return insert(table, key, values); // the same to this kind of store
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    List<Object> bound = new ArrayList<>(List.of(key));
    values.values().forEach(value -> bound.add(value.toString()));
    String names = KEY + ", " + String.join(", ", values.keySet());
    String marks = "?" + ", ?".repeat(values.size());
    String query = "INSERT INTO " + qualified() + " (" + names + ") VALUES (" + marks + ")";
    return attempt(() -> {
      run(query, writing, bound.toArray());
      return Status.OK;
    });
  }

  @Override
  public Status delete(String table, String key) {
    return attempt(() -> {
      run("DELETE FROM " + qualified() + " WHERE " + KEY + " = ?", writing, key);
      return Status.OK;
    });
  }

  @Override
  void disconnect() throws Exception {
    SHARED.leave();
  }

  private CqlSession opened() throws Exception {
    ProgrammaticDriverConfigLoaderBuilder config =
        DriverConfigLoader.programmaticBuilder()
            .withDuration(DefaultDriverOption.REQUEST_TIMEOUT, timeout())
            .withDuration(DefaultDriverOption.CONNECTION_INIT_QUERY_TIMEOUT, timeout())
            .withDuration(DefaultDriverOption.METADATA_SCHEMA_REQUEST_TIMEOUT, SCHEMA_WITHIN);
    if (property("cql.datacenter", "").isEmpty()) {
      config.withString(DefaultDriverOption.LOAD_BALANCING_POLICY_CLASS, "DcInferringLoadBalancingPolicy");
    } else {
      config.withString(DefaultDriverOption.LOAD_BALANCING_LOCAL_DATACENTER, property("cql.datacenter", ""));
    }
    CqlSessionBuilder builder = CqlSession.builder().withConfigLoader(config.build());
    servers().forEach(server -> builder.addContactPoint(server.resolved()));
    String password = password();
    if (password != null) {
      builder.withAuthCredentials(property("user", "cassandra"), password);
    }
    SSLContext encryption = encryption();
    if (encryption != null) {
      boolean names = false; // a server is who its address says it is, whatever name a resolver has for that
      builder.withSslEngineFactory(new ProgrammaticSslEngineFactory(encryption, null, true, names));
    }
    return builder.build();
  }

  private ResultSet run(String query, ConsistencyLevel level, Object... values) {
    PreparedStatement prepared = PREPARED.computeIfAbsent(query, session::prepare);
    BoundStatement statement = prepared.bind(values).setConsistencyLevel(level).setTimeout(timeout());
    return session.execute(statement);
  }

  private void define(String query) {
    session.execute(SimpleStatement.newInstance(query).setTimeout(SCHEMA_WITHIN));
  }

  private String keyspace() {
    return property("database", "ycsb");
  }

  private String qualified() {
    return keyspace() + "." + table();
  }

  private static String columns(Set<String> fields) {
    return fields == null ? "*" : String.join(", ", fields);
  }

  private static HashMap<String, ByteIterator> values(Row row) {
    HashMap<String, ByteIterator> found = new HashMap<>();
    row.getColumnDefinitions().forEach(column -> {
      String name = column.getName().asInternal();
      String value = row.getString(column.getName());
      if (value != null && !name.equals(KEY)) {
        found.put(name, new StringByteIterator(value));
      }
    });
    return found;
  }
}
