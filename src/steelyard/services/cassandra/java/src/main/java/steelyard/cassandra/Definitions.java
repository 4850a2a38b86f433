package steelyard.cassandra;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The statements that make a ring's keyspaces and all that is in them, with the ids of their tables. Functions and triggers
 * are code, which nobody should run because data came with it: they are named and left out.
 */
final class Definitions {
  private static final String ALL = "DESCRIBE SCHEMA WITH INTERNALS";
  private static final String TRIGGERS = "SELECT keyspace_name, table_name, trigger_name FROM system_schema.triggers";
  private static final Set<String> CODE = Set.of("function", "aggregate");
  private static final Pattern REPLICATION = Pattern.compile("^(CREATE KEYSPACE [^{]*\\{)([^}]*)");
  private static final Pattern STATEMENT = Pattern.compile("(?:'[^']*+'|\"[^\"]*+\"|[^;'\"]++)++;");

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
    for (List<String> element : elements(ALL)) {
      if (!CODE.contains(element.get(1))) {
        STATEMENT.matcher(element.get(3)).results().map(MatchResult::group).map(String::strip).forEach(found::add);
      }
    }
    return found;
  }

  /** Names of what is left out. */
  List<String> leftOut() throws IOException {
    List<String> found = new ArrayList<>();
    for (List<String> element : elements(ALL)) {
      if (CODE.contains(element.get(1))) {
        found.add(element.get(1) + " " + element.get(0) + "." + element.get(2));
      }
    }
    elements(TRIGGERS).forEach(trigger -> found.add("trigger " + String.join(".", trigger)));
    return found;
  }

  /** What a node finds wrong with statements; see {@link StatementsMBean}. */
  static List<?> faults(Management node, List<String> statements) throws Exception {
    Object[] values = {new ArrayList<>(statements)};
    return (List<?>) node.call(Statements.NAME, "faults", values, "java.util.List");
  }

  private List<List<String>> elements(String statement) throws IOException {
    try (Cql ring = open()) {
      return ring.rows(statement);
    }
  }

  /** Whether the ring has these, whatever the order in which it names the data centres of a keyspace. */
  boolean are(List<String> wanted) throws IOException {
    return ordered(read()).equals(ordered(wanted));
  }

  void drop(List<String> keyspaces) throws IOException {
    run("DROP KEYSPACE IF EXISTS ", keyspaces.stream().map(Definitions::quoted));
  }

  void make(List<String> wanted) throws IOException {
    run("", wanted.stream());
  }

  void empty(Set<String> tables) throws IOException {
    run("TRUNCATE TABLE ", tables.stream());
  }

  private void run(String verb, Stream<String> each) throws IOException {
    try (Cql ring = open()) {
      for (String words : each.toList()) {
        ring.run(verb + words);
      }
    }
  }

  private static List<String> ordered(List<String> statements) {
    return statements.stream().map(text -> REPLICATION.matcher(text).replaceFirst(Definitions::ordered)).toList();
  }

  private static String ordered(MatchResult keyspace) {
    String pairs = Stream.of(keyspace.group(2).split(", *")).sorted().collect(Collectors.joining(", "));
    return Matcher.quoteReplacement(keyspace.group(1) + pairs);
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
