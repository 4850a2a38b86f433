package steelyard.cassandra;

import java.lang.management.MemoryUsage;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Stream;
import javax.management.InstanceNotFoundException;
import javax.management.openmbean.CompositeData;

/**
 * What one node says of the ring and of itself. {@code generation} is that of the settings it was asked under; {@code meters}
 * are empty until it lets clients in.
 */
record Report(
    long generation,
    String mode,
    String schema,
    boolean open,
    Map<String, Collection<String>> views,
    Map<String, Double> meters) {
  private static final List<String> VIEWS =
      List.of("LiveNodes", "UnreachableNodes", "JoiningNodes", "LeavingNodes", "MovingNodes", "Tokens");
  private static final List<String> FACTS =
      List.of("OperationMode", "NativeTransportRunning", "SchemaVersion", "TokenToEndpointMap");
  private static final String METRICS = "org.apache.cassandra.metrics:type=";

  /** Throws IllegalStateException while the node is not far enough to tell all of it. */
  static Report of(Management node, long generation) throws Exception {
    List<String> names = Stream.of(VIEWS, FACTS).flatMap(List::stream).toList();
    Map<String, Object> said = node.storage(names);
    if (!said.keySet().containsAll(names)) {
      throw new IllegalStateException("it is coming up");
    }
    Map<String, Collection<String>> views = new LinkedHashMap<>();
    for (String view : VIEWS) {
      views.put(view.replace("Nodes", "").toLowerCase(), texts(said.get(view)));
    }
    views.put("owners", texts(((Map<?, ?>) said.get("TokenToEndpointMap")).values()));
    String mode = (String) said.get("OperationMode");
    boolean open = mode.equals("NORMAL") && (Boolean) said.get("NativeTransportRunning");
    String schema = String.valueOf(said.get("SchemaVersion"));
    return new Report(generation, mode, schema, open, views, open ? meters(node) : Map.of());
  }

  boolean normal() {
    return mode.equals("NORMAL");
  }

  /**
   * Whether this node takes all of these to be up and none to come or go. One may be up before it is known where in the ring
   * it stands: what is written then, such as a role, never gets there.
   */
  boolean sees(Collection<String> addresses) {
    return normal()
        && views.get("live").containsAll(addresses)
        && views.get("owners").containsAll(addresses)
        && List.of("joining", "leaving", "moving").stream().allMatch(view -> views.get(view).isEmpty());
  }

  static Map<String, Double> meters(Management node) throws Exception {
    Map<String, Double> found = new LinkedHashMap<>();
    found.put("pending_compactions", number(node.get(METRICS + "Compaction,name=PendingTasks", "Value")));
    found.put("pending_hints", number(node.call(Writes.NAME, "hints", new Object[0])));
    found.put("hints_in_progress", number(node.get(METRICS + "Storage,name=TotalHintsInProgress", "Count")));
    found.put(
        "pending_mutations", orNone(node, METRICS + "ThreadPools,path=request,scope=MutationStage,name=PendingTasks"));
    Object streams = node.get("org.apache.cassandra.net:type=StreamManager", "CurrentStreams");
    found.put("streams", (double) ((Collection<?>) streams).size());
    found.put("load_bytes", number(node.get(METRICS + "Storage,name=Load", "Count")));
    CompositeData heap = (CompositeData) node.get("java.lang:type=Memory", "HeapMemoryUsage");
    found.put("heap_used_bytes", (double) MemoryUsage.from(heap).getUsed());
    return found;
  }

  /** A stage is there from its first use on. */
  static double orNone(Management node, String metric) throws Exception {
    try {
      return number(node.get(metric, "Value"));
    } catch (InstanceNotFoundException error) {
      return 0;
    }
  }

  static double number(Object value) {
    return ((Number) value).doubleValue();
  }

  private static Collection<String> texts(Object list) {
    Collection<String> found = new TreeSet<>();
    ((Collection<?>) list).forEach(one -> found.add(String.valueOf(one)));
    return found;
  }
}
