package steelyard.cassandra;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** The statements that make a ring's keyspaces and all that is in them, with the ids of their tables. */
final class Definitions {
  private static final String ALL = "DESCRIBE SCHEMA WITH INTERNALS";
  private static final String TRUNCATE = "TRUNCATE TABLE ";

  private final Settings settings;

  private Definitions(Settings settings) {
    this.settings = settings;
  }

  static Definitions of(Settings settings) {
    return new Definitions(settings);
  }

  /** Each alone: what a table lost again stands behind it in one text. */
  List<String> read() throws IOException {
    List<String> found = new ArrayList<>();
    try (Cql ring = open()) {
      for (String text : ring.texts(ALL)) {
        found.addAll(List.of(text.strip().split("(?<=;)\\s*(?=ALTER TABLE )")));
      }
    }
    return found;
  }

  /** The ring has these definitions and no row; what it had is gone. */
  void impose(List<String> wanted, List<String> keyspaces, List<String> tables) throws IOException {
    boolean same = read().equals(wanted);
    try (Cql ring = open()) {
      if (same) {
        for (String table : tables) {
          ring.run(TRUNCATE + table);
        }
        return;
      }
      for (String keyspace : keyspaces) {
        ring.run("DROP KEYSPACE IF EXISTS " + quoted(keyspace));
      }
      for (String statement : wanted) {
        ring.run(statement);
      }
    }
  }

  Replication replication(String keyspace) throws IOException {
    String where = " WHERE keyspace_name = '" + keyspace.replace("'", "''") + "'";
    try (Cql ring = open()) {
      return Replication.of(ring.texts("SELECT toJson(replication) FROM system_schema.keyspaces" + where).get(0));
    }
  }

  void replicate(String keyspace, Replication wanted) throws IOException {
    try (Cql ring = open()) {
      ring.run("ALTER KEYSPACE " + quoted(keyspace) + " WITH replication = " + wanted.words());
    }
  }

  static String quoted(String name) {
    return '"' + name.replace("\"", "\"\"") + '"';
  }

  private Cql open() throws IOException {
    return new Cql(settings).patient();
  }
}
