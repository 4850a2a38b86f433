package steelyard.cassandra;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * {@code Snapshot DIRECTORY NAME ADDRESS=TARGET...}: has all nodes keep the files of their tables as they are at one
 * moment, each in its target, as {@link TablesMBean} says. Prints what it found as JSON.
 *
 * <p>First a node that could not give another a write that both are to have gets time to do so, for files know nothing of
 * it. Then all nodes write what they have in memory, so that the moment itself, in which they do so again, is short.
 */
public final class Snapshot {
  private static final long HAND_OVER_WITHIN = TimeUnit.SECONDS.toNanos(60);  // nodes look every 10 s whether they can

  private Snapshot() {}

  public static void main(String[] words) {
    try {
      Settings settings = Settings.begin(Path.of(words[0]));
      System.out.println(Json.of(take(settings, words[1], Targets.of(words, 2))));
    } catch (Exception error) {
      System.err.println(Everywhere.reason(error));
      System.exit(1);
    }
  }

  private static Map<String, Object> take(Settings settings, String name, Map<String, String> targets) throws Exception {
    Times times = new Times();
    try (Everywhere nodes = new Everywhere(targets.keySet(), settings)) {
      List<String> keyspaces = nodes.first().keyspaces();
      times.next("connect");
      Set<String> waiting = new Backlog(nodes).untilHandedOver(System.nanoTime() + HAND_OVER_WITHIN);
      times.next("wait");
      nodes.each((address, node) -> flush(node, keyspaces));
      times.next("flush");
      Map<String, long[]> moments = nodes.each((address, node) -> freeze(node, name, keyspaces));
      times.next("freeze");
      Map<String, Object> found = new LinkedHashMap<>();
      found.put("waiting", waiting);
      found.put("rows", nodes.each((address, node) -> collect(node, name, targets.get(address), keyspaces)));
      times.next("collect");
      List<String> definitions = Definitions.of(settings).read();
      found.put("definitions", definitions);
      found.put("faults", Definitions.faults(nodes.first(), definitions));
      found.put("left_out", Definitions.of(settings).leftOut());
      times.next("describe");
      found.put("seconds", times.seconds());
      found.put("spread", spread(moments));
      return found;
    }
  }

  private static Void flush(Management node, List<String> keyspaces) throws Exception {
    node.onKeyspaces("forceKeyspaceFlush", keyspaces);
    return null;
  }

  /** When it began and when it was done: the moment lies between. */
  private static long[] freeze(Management node, String name, List<String> keyspaces) throws Exception {
    long began = System.nanoTime();
    if (!keyspaces.isEmpty()) {  // no names would mean all, also Cassandra's own
      node.invoke("takeSnapshot", new Object[] {name, Map.of(), names(keyspaces)}, Management.TEXT, "java.util.Map",
          Management.TEXTS);
    }
    return new long[] {began, System.nanoTime()};
  }

  private static Object collect(Management node, String name, String target, List<String> keyspaces) throws Exception {
    Object rows = node.call(Tables.NAME, "collect", new Object[] {name, target}, Management.TEXT, Management.TEXT);
    if (!keyspaces.isEmpty()) {
      node.invoke("clearSnapshot", new Object[] {name, names(keyspaces)}, Management.TEXT, Management.TEXTS);
    }
    return rows;
  }

  private static String[] names(List<String> keyspaces) {
    return keyspaces.toArray(String[]::new);
  }

  private static double spread(Map<String, long[]> moments) {
    long first = moments.values().stream().mapToLong(moment -> moment[0]).min().orElse(0);
    long last = moments.values().stream().mapToLong(moment -> moment[1]).max().orElse(0);
    return (last - first) / 1e9;
  }
}
