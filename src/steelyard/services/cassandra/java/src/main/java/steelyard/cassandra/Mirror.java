package steelyard.cassandra;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * {@code Mirror DIRECTORY extend|fill|prove|mend SECONDS MAIN=NODES MIRROR=COPIES ADDRESS...}: sees to the second data centre of
 * a ring, whose addresses these are. Prints what it found as JSON.
 *
 * <p>{@code extend}: every keyspace of a user is kept there, too; what lies in the first already is brought. {@code fill}:
 * all is brought. {@code prove}: extends, waits until no node has anything left to hand on, and compares all copies.
 * {@code mend}: the same, and what differs is repaired and compared once more.
 */
public final class Mirror implements AutoCloseable {
  private final Settings settings;
  private final Centres centres;
  private final long deadline;
  private final Everywhere all;
  private final Everywhere mirror;
  private final Map<String, Object> found = new LinkedHashMap<>();
  private final Times times = new Times();

  private Mirror(Settings settings, Centres centres, double seconds) throws Exception {
    this.settings = settings;
    this.centres = centres;
    deadline = System.nanoTime() + (long) (seconds * TimeUnit.SECONDS.toNanos(1));
    all = new Everywhere(settings.addresses(), settings);
    mirror = new Everywhere(centres.addresses(), settings);
    times.next("connect");
  }

  public static void main(String[] words) {
    try (Mirror mirror =
        new Mirror(Settings.begin(Path.of(words[0])), Centres.of(words, 3), Double.parseDouble(words[2]))) {
      mirror.act(words[1]);
      mirror.found.put("seconds", mirror.times.seconds());
      System.out.println(Json.of(mirror.found));
    } catch (Exception error) {
      System.err.println(Everywhere.reason(error));
      System.exit(1);
    }
  }

  private void act(String action) throws Exception {
    switch (action) {
      case "extend" -> extend();
      case "fill" -> fill();
      case "prove" -> prove(false);
      case "mend" -> prove(true);
      default -> throw new IllegalArgumentException("unknown action " + action);
    }
  }

  private void extend() throws Exception {
    Map<String, Boolean> changed = new LinkedHashMap<>();
    for (String keyspace : all.first().keyspaces()) {
      Replication now = Definitions.of(settings).replication(keyspace);
      Replication wanted = now.both(centres);
      if (!wanted.equals(now)) {
        Definitions.of(settings).replicate(keyspace, wanted);
        changed.put(keyspace, now.simple());
      }
    }
    agree();
    for (Map.Entry<String, Boolean> one : changed.entrySet()) {
      bring(one.getKey(), one.getValue());
    }
    found.put("extended", changed.keySet());
    times.next("extend");
  }

  private void fill() throws Exception {
    agree();
    for (String keyspace : all.first().keyspaces()) {
      bring(keyspace, false);
    }
    times.next("fill");
  }

  /** What was kept anywhere is gathered from everywhere; else the first data centre has all of it. */
  private void bring(String keyspace, boolean fromAnywhere) throws Exception {
    List<String> asked = fromAnywhere ? covering(keyspace) : List.of();
    mirror.each((address, node) -> {
      if (asked.contains(address)) {
        Repair.mend(node, keyspace, deadline);
      } else if (!fromAnywhere) {
        Object[] values = {centres.main(), keyspace, null, null};
        node.invoke("rebuild", values, Management.TEXT, Management.TEXT, Management.TEXT, Management.TEXT);
      }
      return null;
    });
  }

  private void prove(boolean mending) throws Exception {
    extend();
    found.put("backlog", new Backlog(all).look());
    new Backlog(all).untilNone(deadline);
    times.next("wait");
    Map<String, String> verdicts = new LinkedHashMap<>();
    Set<String> mended = new TreeSet<>();
    for (String keyspace : filled()) {
      String differences = differences(keyspace);
      if (mending && !differences.isEmpty()) {
        bring(keyspace, true);
        mended.add(keyspace);
        differences = differences(keyspace);
      }
      verdicts.put(keyspace, differences);
    }
    found.put("mended", mended);
    found.put("differences", verdicts);
    times.next("compare");
  }

  private String differences(String keyspace) throws Exception {
    List<String> asked = covering(keyspace);
    Map<String, String> said = mirror.each((address, node) ->
        asked.contains(address) ? Repair.differences(node, keyspace, deadline) : "");
    return said.values().stream().filter(text -> !text.isEmpty()).distinct().collect(Collectors.joining("\n"));
  }

  private List<String> covering(String keyspace) throws Exception {
    return centres.holdingAll(Definitions.of(settings).replication(keyspace).mirrored(centres));
  }

  /** Keyspaces of users that have tables: without, there is nothing to compare. */
  private Set<String> filled() throws Exception {
    Map<?, ?> rows = (Map<?, ?>) all.first().call(Tables.NAME, "rows", new Object[0]);
    Set<String> with = new TreeSet<>();
    rows.keySet().forEach(table -> with.add(String.valueOf(table).split("\\.", 2)[0]));
    with.retainAll(all.first().keyspaces());
    return with;
  }

  /** All nodes know the same tables. */
  private void agree() throws Exception {
    while (!all.agree()) {
      if (System.nanoTime() > deadline) {
        throw new IllegalStateException("the nodes do not agree on the tables");
      }
      Thread.sleep(50);
    }
  }

  @Override
  public void close() throws Exception {
    mirror.close();
    all.close();
  }
}
