package steelyard.ycsb;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.Vector;
import site.ycsb.ByteIterator;
import site.ycsb.Status;
import site.ycsb.StringByteIterator;

/**
 * PostgreSQL 9.5 or newer: a table with a column for each field, a connection for each thread.
 *
 * <p>Of several servers, the one that takes writes is used.
 */
public final class Postgresql extends Binding {
  private static final String KEY = "ycsb_key";

  private final Map<String, PreparedStatement> prepared = new HashMap<>();
  private Connection connection;

  @Override
  void connect() throws Exception {
    Properties wanted = new Properties();
    wanted.setProperty("user", property("user", "postgres"));
    wanted.setProperty("socketTimeout", Long.toString(Math.max(1, timeout().toSeconds())));
    wanted.setProperty("ApplicationName", "ycsb");
    String password = password();
    if (password != null) {
      wanted.setProperty("password", password);
    }
    if (System.getenv(AUTHORITY) != null) {
      wanted.setProperty("sslmode", "verify-full");
      wanted.setProperty("sslfactory", "org.postgresql.ssl.SingleCertValidatingFactory");
      wanted.setProperty("sslfactoryarg", "env:" + AUTHORITY);
    }
    List<String> servers = servers().stream().map(server -> server.address() + ":" + server.port()).toList();
    String database = property("database", "postgres");
    String url = "jdbc:postgresql://" + String.join(",", servers) + "/" + database + "?targetServerType=primary";
    connection = DriverManager.getConnection(url, wanted);
  }

  @Override
  void create() throws SQLException {
    String columns = String.join("", fields().stream().map(name -> ", " + name + " text").toList());
    try (Statement statement = connection.createStatement()) {
      statement.execute(
          "CREATE TABLE IF NOT EXISTS " + table() + " (" + KEY + " text COLLATE \"C\" PRIMARY KEY" + columns + ")");
      statement.execute("TRUNCATE " + table());
    }
  }

  @Override
  public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
    String query = "SELECT " + columns(fields) + " FROM " + table + " WHERE " + KEY + " = ?";
    return attempt(() -> {
      List<HashMap<String, ByteIterator>> found = rows(query, chosen(fields), key);
      found.forEach(result::putAll);
      return found.isEmpty() ? Status.NOT_FOUND : Status.OK;
    });
  }

  @Override
  public Status scan(
      String table, String start, int count, Set<String> fields, Vector<HashMap<String, ByteIterator>> result) {
    String where = " WHERE " + KEY + " >= ? ORDER BY " + KEY + " LIMIT ?";
    return attempt(() -> {
      result.addAll(rows("SELECT " + columns(fields) + " FROM " + table + where, chosen(fields), start, count));
      return Status.OK;
    });
  }

  @Override
  public Status update(String table, String key, Map<String, ByteIterator> values) {
    String changes = String.join(", ", values.keySet().stream().map(name -> name + " = ?").toList());
    List<Object> bound = texts(values);
    bound.add(key);
    return write("UPDATE " + table + " SET " + changes + " WHERE " + KEY + " = ?", bound);
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    String again = String.join(", ", values.keySet().stream().map(name -> name + " = EXCLUDED." + name).toList());
    List<Object> bound = texts(values);
    bound.add(key);
    String names = String.join(", ", values.keySet()) + ", " + KEY;
    String marks = "?, ".repeat(values.size()) + "?";
    String upsert = " ON CONFLICT (" + KEY + ") DO UPDATE SET " + again;
    return write("INSERT INTO " + table + " (" + names + ") VALUES (" + marks + ")" + upsert, bound);
  }

  @Override
  public Status delete(String table, String key) {
    return write("DELETE FROM " + table + " WHERE " + KEY + " = ?", List.of(key));
  }

  @Override
  void disconnect() throws Exception {
    connection.close();
  }

  private List<HashMap<String, ByteIterator>> rows(String query, Collection<String> fields, Object... values)
      throws Exception {
    List<HashMap<String, ByteIterator>> found = new ArrayList<>();
    try (ResultSet rows = bound(query, List.of(values)).executeQuery()) {
      while (rows.next()) {
        HashMap<String, ByteIterator> row = new HashMap<>();
        for (String field : fields) {
          String value = rows.getString(field);
          if (value != null) {
            row.put(field, new StringByteIterator(value));
          }
        }
        found.add(row);
      }
    }
    return found;
  }

  private Status write(String query, List<Object> values) {
    return attempt(() -> bound(query, values).executeUpdate() == 0 ? Status.NOT_FOUND : Status.OK);
  }

  /** A lost connection is made anew, once for each operation that wants it. */
  private PreparedStatement bound(String query, List<Object> values) throws Exception {
    if (connection.isClosed()) {
      prepared.clear();
      connect();
    }
    PreparedStatement statement = prepared.get(query);
    if (statement == null) {
      statement = connection.prepareStatement(query);
      prepared.put(query, statement);
    }
    for (int at = 0; at < values.size(); at++) {
      statement.setObject(at + 1, values.get(at));
    }
    return statement;
  }

  private static String columns(Set<String> fields) {
    return fields == null ? "*" : String.join(", ", fields);
  }

  private Collection<String> chosen(Set<String> fields) {
    return fields == null ? fields() : fields;
  }

  private static List<Object> texts(Map<String, ByteIterator> values) {
    List<Object> found = new ArrayList<>();
    values.values().forEach(value -> found.add(value.toString()));
    return found;
  }
}
