package steelyard.cassandra;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * {@code Recover DIRECTORY DEFINITIONS own|any ADDRESS=SOURCE...}: has a ring hold the rows of files and no others.
 *
 * <p>The file of definitions has one a line, in Base64. They are run as a superuser and may come from a stranger: unless all
 * of them are what {@link StatementsMBean} lets pass, nothing is done, and the answer has nothing but {@code faults}. Below a
 * node's source lie directories, one for each node that the files are from, with {@code keyspace/table} in them; the files
 * are moved. A node without a source gets none. {@code own}: the files hold nothing but what is the node's own; with
 * {@code any}, what is not is dropped afterwards.
 */
public final class Recover {
  private static final String TABLE = "org.apache.cassandra.db:type=Tables,keyspace=%s,table=%s";
  private static final String FLAG = "boolean";

  private Recover() {}

  public static void main(String[] words) {
    try {
      Settings settings = Settings.begin(Path.of(words[0]));
      List<String> wanted = Files.readAllLines(Path.of(words[1])).stream().map(Recover::decoded).toList();
      System.out.println(Json.of(recover(settings, wanted, words[2].equals("own"), Targets.of(words, 3))));
    } catch (Exception error) {
      System.err.println(Everywhere.reason(error));
      System.exit(1);
    }
  }

  private static String decoded(String line) {
    return new String(Base64.getDecoder().decode(line), StandardCharsets.UTF_8);
  }

  private static Map<String, Object> recover(
      Settings settings, List<String> wanted, boolean own, Map<String, String> sources) throws Exception {
    Times times = new Times();
    try (Everywhere nodes = new Everywhere(settings.addresses(), settings)) {
      times.next("connect");
      List<?> faults = Definitions.faults(nodes.first(), wanted);
      if (!faults.stream().allMatch(""::equals)) {
        return Map.of("faults", faults);
      }
      impose(settings, wanted, nodes);
      times.next("define");
      List<String> keyspaces = nodes.first().keyspaces();
      nodes.each((address, node) -> pause(node, keyspaces));
      Map<String, Object> found = new LinkedHashMap<>();
      found.put("rows", nodes.each((address, node) ->
          sources.containsKey(address) ? load(node, keyspaces, Path.of(sources.get(address))) : Map.of()));
      times.next("import");
      nodes.each((address, node) -> goOn(node, own, keyspaces));
      times.next("cleanup");
      found.put("seconds", times.seconds());
      return found;
    }
  }

  /**
   * Has a ring these definitions and no row. A node that hears of a table only when it has gone and come again takes it for
   * the one that it has, rows and all: so all know that it has gone before it comes.
   */
  private static void impose(Settings settings, List<String> wanted, Everywhere nodes) throws Exception {
    forgetHints(nodes);
    Definitions definitions = Definitions.of(settings);
    if (definitions.are(wanted)) {
      definitions.empty(tables(nodes, 0));
    } else {
      definitions.drop(nodes.first().keyspaces());
      untilTheyAgree(nodes);
      definitions.make(wanted);
    }
    untilTheyAgree(nodes);
    // A node keeps what it compacts when it cannot stop (CASSANDRA-21527); a new table finds files that another left.
    for (Set<String> left = tables(nodes, 1); !left.isEmpty(); left = tables(nodes, 1)) {
      definitions.empty(left);
    }
  }

  /** Writes that wait for a node to come back are of the data that go. */
  private static void forgetHints(Everywhere nodes) throws Exception {
    nodes.each((address, node) ->
        node.call("org.apache.cassandra.hints:type=HintsService", "deleteAllHints", new Object[0]));
  }

  private static void untilTheyAgree(Everywhere nodes) throws Exception {
    while (!nodes.agree()) {
      Thread.sleep(20);
    }
  }

  /** Those of users of which a node has so many rows in files, and that can be emptied. */
  private static Set<String> tables(Everywhere nodes, long least) throws Exception {
    List<String> keyspaces = nodes.first().keyspaces();
    Set<?> views = (Set<?>) nodes.first().call(Tables.NAME, "views", new Object[0]);
    Set<String> found = new TreeSet<>();
    for (Map<?, ?> counted : nodes.each((address, node) -> rows(node)).values()) {
      counted.forEach((name, count) -> {
        String[] parts = String.valueOf(name).split("\\.", 2);
        if (keyspaces.contains(parts[0]) && !views.contains(name) && ((Number) count).longValue() >= least) {
          found.add(Definitions.quoted(parts[0]) + "." + Definitions.quoted(parts[1]));
        }
      });
    }
    return found;
  }

  /** Compaction would change what is counted. */
  private static Void pause(Management node, List<String> keyspaces) throws Exception {
    node.onKeyspaces("disableAutoCompaction", keyspaces);
    return null;
  }

  private static Object load(Management node, List<String> keyspaces, Path source) throws Exception {
    Map<String, Set<String>> places = new LinkedHashMap<>();
    for (Path origin : below(source)) {
      for (Path keyspace : below(origin)) {
        for (Path table : below(keyspace)) {
          if (!keyspaces.contains(keyspace.getFileName().toString())) {  // or files could bring roles
            throw new IllegalStateException("the snapshot has files of " + keyspace.getFileName() + ", no keyspace of users");
          }
          String bean = String.format(TABLE, keyspace.getFileName(), table.getFileName());
          places.computeIfAbsent(bean, name -> new TreeSet<>()).add(table.toString());
        }
      }
    }
    for (Map.Entry<String, Set<String>> place : places.entrySet()) {
      take(node, place.getKey(), place.getValue());
    }
    return rows(node);
  }

  private static void take(Management node, String table, Set<String> places) throws Exception {
    // The files were compared with what they are to be, and each node is given what it may own: no further look.
    Object[] values = {places, false, false, false, false, true, false, false};
    String[] types = {"java.util.Set", FLAG, FLAG, FLAG, FLAG, FLAG, FLAG, FLAG};
    Object refused = node.call(table, "importNewSSTables", values, types);
    if (!((List<?>) refused).isEmpty()) {
      throw new IllegalStateException("the node refuses the files in " + refused + "; its log says why");
    }
  }

  private static Void goOn(Management node, boolean own, List<String> keyspaces) throws Exception {
    if (!own) {
      node.onKeyspaces("forceKeyspaceCleanup", keyspaces);
    }
    node.onKeyspaces("enableAutoCompaction", keyspaces);
    return null;
  }

  private static Map<?, ?> rows(Management node) throws Exception {
    return (Map<?, ?>) node.call(Tables.NAME, "rows", new Object[0]);
  }

  private static List<Path> below(Path directory) throws Exception {
    try (Stream<Path> found = Files.list(directory)) {
      return found.filter(Files::isDirectory).sorted().toList();
    }
  }
}
