package steelyard.cassandra;

import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** How a keyspace is kept: its strategy, and copies by data centre, as Cassandra writes both. */
record Replication(String strategy, Map<String, String> copies) {
  private static final Pattern PAIR = Pattern.compile("\"([^\"]+)\"\\s*:\\s*\"([^\"]*)\"");
  private static final String TOPOLOGY = "NetworkTopologyStrategy";
  private static final String FACTOR = "replication_factor";

  /** From the JSON that Cassandra makes of a map of texts. */
  static Replication of(String json) {
    Map<String, String> found = new TreeMap<>();
    Matcher pairs = PAIR.matcher(json);
    while (pairs.find()) {
      found.put(pairs.group(1), pairs.group(2));
    }
    String name = found.remove("class");
    return new Replication(name.substring(name.lastIndexOf('.') + 1), found);
  }

  /** Whether its rows lie wherever the ring has it, whatever data centre that is. */
  boolean simple() {
    return strategy.equals("SimpleStrategy");
  }

  /** In the mirror. */
  int mirrored(Centres centres) {
    return number(copies.getOrDefault(centres.mirror(), "0"));
  }

  /**
   * The same, kept in both data centres; itself where it is already, or where its strategy knows better.
   *
   * <p>The nodes that keep a row of a simple keyspace stay among those that keep it: they are the next ones on the ring, so
   * in each data centre the next ones there, and at least as many are asked for.
   */
  Replication both(Centres centres) {
    if (simple()) {
      int factor = number(copies.getOrDefault(FACTOR, "1"));
      int here = Math.min(factor, centres.nodes());
      int there = Math.max(centres.copies(), Math.min(factor, centres.addresses().size()));
      return new Replication(TOPOLOGY, Map.of(centres.main(), "" + here, centres.mirror(), "" + there));
    }
    if (!strategy.equals(TOPOLOGY) || mirrored(centres) > 0) {
      return this;
    }
    Map<String, String> found = new TreeMap<>(copies);
    found.put(centres.mirror(), "" + centres.copies());
    return new Replication(TOPOLOGY, found);
  }

  /** As a statement has it. */
  String words() {
    return new TreeMap<>(copies).entrySet().stream()
        .map(pair -> "'" + pair.getKey() + "': '" + pair.getValue() + "'")
        .collect(Collectors.joining(", ", "{'class': '" + strategy + "', ", "}"));
  }

  /** {@code 3}, or {@code 3/1} where one of three is transient. */
  private static int number(String text) {
    return Integer.parseInt(text.split("/", 2)[0]);
  }
}
