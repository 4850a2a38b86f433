package steelyard.cassandra;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** What the nodes of a ring still have to hand to each other: hints, mutations, streams, batches. */
final class Backlog {
  private static final Set<String> HINTS = Set.of("pending_hints", "hints_in_progress");
  private static final List<String> OF_REPORT =
      List.of("pending_hints", "hints_in_progress", "pending_mutations", "streams");
  private static final String ACTIVE =
      "org.apache.cassandra.metrics:type=ThreadPools,path=request,scope=MutationStage,name=ActiveTasks";
  private static final int EXPIRY_MS = 1000;  // how often at most a node looks for answers that are overdue
  private static final int PAUSE_MS = 200;

  private final Everywhere nodes;

  Backlog(Everywhere nodes) {
    this.nodes = nodes;
  }

  /**
   * Waits until no node has writes that it keeps for another which did not take them: hints. Addresses of those that still
   * have some at the deadline.
   */
  Set<String> untilHandedOver(long deadline) throws Exception {
    while (true) {
      Map<String, Map<String, Double>> left = look();
      left.values().forEach(of -> of.keySet().retainAll(HINTS));
      left.values().removeIf(Map::isEmpty);
      if (left.isEmpty() || System.nanoTime() > deadline) {
        return left.keySet();
      }
      Thread.sleep(PAUSE_MS);
    }
  }

  /** What is above zero, by node. */
  Map<String, Map<String, Double>> look() throws Exception {
    Map<String, Map<String, Double>> found = nodes.each((address, node) -> of(node));
    found.values().removeIf(Map::isEmpty);
    return found;
  }

  /**
   * Waits until there is none. It has to stay so for as long as a write may be waited for: only then does a node make a
   * hint of one that was not answered. Throws, and names what is left, at the deadline.
   */
  void untilNone(long deadline) throws Exception {
    long quiet = TimeUnit.MILLISECONDS.toNanos(((Number) writeTimeout()).longValue() + EXPIRY_MS);
    long since = System.nanoTime();
    while (System.nanoTime() - since < quiet) {
      Map<String, Map<String, Double>> left = look();
      if (!left.isEmpty()) {
        since = System.nanoTime();
      }
      if (System.nanoTime() > deadline) {
        throw new IOException("the nodes still have to hand on " + left);
      }
      Thread.sleep(PAUSE_MS);
    }
  }

  private Object writeTimeout() throws Exception {
    return nodes.first().get("org.apache.cassandra.db:type=StorageProxy", "WriteRpcTimeout");
  }

  private static Map<String, Double> of(Management node) throws Exception {
    node.call(Writes.NAME, "flush", new Object[0]);
    Map<String, Double> found = new LinkedHashMap<>(Report.meters(node));
    found.keySet().retainAll(OF_REPORT);
    found.put("active_mutations", Report.orNone(node, ACTIVE));
    Object batches = node.call("org.apache.cassandra.db:type=BatchlogManager", "countAllBatches", new Object[0]);
    found.put("batches", Report.number(batches));
    found.values().removeIf(value -> value == 0);
    return found;
  }
}
