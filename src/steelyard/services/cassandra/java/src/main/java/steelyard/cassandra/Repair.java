package steelyard.cassandra;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import javax.management.Notification;

/**
 * A full repair of one keyspace, of all ranges that a node keeps, with all other nodes that keep them: each builds hash
 * trees of what it has, and they are compared. A preview only says what differs.
 */
final class Repair {
  private static final String IN_SYNC = "Previewed data was in sync";
  // Kinds of progress, by their place in Cassandra's ProgressEventType.
  private static final int ERROR = 2;
  private static final int ABORT = 3;
  private static final int SUCCESS = 4;
  private static final int COMPLETE = 5;
  private static final int REMARK = 6;

  private final Management node;
  private final BlockingQueue<Notification> heard = new LinkedBlockingQueue<>();
  private final List<String> remarks = new ArrayList<>();
  private final List<String> faults = new ArrayList<>();

  private Repair(Management node) {
    this.node = node;
  }

  /** Empty where all copies are the same; else what Cassandra says of the differences, or why it could not compare. */
  static String differences(Management node, String keyspace, long deadline) throws Exception {
    Repair preview = new Repair(node);
    boolean begun = preview.run(keyspace, "ALL", deadline);
    boolean same = !begun || preview.remarks.stream().anyMatch(text -> text.contains(IN_SYNC));
    if (same && preview.faults.isEmpty()) {
      return "";
    }
    List<String> said = preview.faults.isEmpty() ? preview.remarks : preview.faults;
    return said.isEmpty() ? "the node did not say what came of it" : String.join("\n", said).strip();
  }

  /** Has every node that keeps a row have the newest of all. Throws with the reason when that fails. */
  static void mend(Management node, String keyspace, long deadline) throws Exception {
    Repair repair = new Repair(node);
    repair.run(keyspace, "NONE", deadline);
    if (!repair.faults.isEmpty()) {
      throw new IOException("repair of " + keyspace + ": " + String.join("; ", repair.faults));
    }
  }

  /** False where there is nothing to compare, because there is one copy. */
  private boolean run(String keyspace, String preview, long deadline) throws Exception {
    node.listen((notification, handback) -> heard.add(notification));
    Map<String, String> options = Map.of(
        "previewKind", preview, "incremental", "false", "primaryRange", "false", "parallelism", "parallel",
        "jobThreads", "1", "trace", "false");
    int number = (Integer) node.invoke("repairAsync", new Object[] {keyspace, options}, Management.TEXT, "java.util.Map");
    if (number == 0) {
      return false;
    }
    while (!ended("repair:" + number) && !over(number)) {
      if (System.nanoTime() > deadline) {
        node.invoke("forceTerminateAllRepairSessions", new Object[0]);
        throw new IOException("the comparison of " + keyspace + " took too long");
      }
    }
    remember(number);
    return true;
  }

  /** Takes what was said within a second, if anything; whether that was the end. */
  private boolean ended(String source) throws InterruptedException {
    Notification said = heard.poll(1, TimeUnit.SECONDS);
    if (said == null || !source.equals(said.getSource()) || !(said.getUserData() instanceof Map<?, ?> data)) {
      return false;
    }
    int kind = ((Number) data.get("type")).intValue();
    if (kind == ERROR || kind == ABORT) {
      faults.add(said.getMessage());
    } else if (kind == REMARK || kind == SUCCESS) {
      remarks.add(said.getMessage());
    }
    return kind == COMPLETE;
  }

  /** The last notification may get lost, so a silent node is asked. */
  private boolean over(int number) throws Exception {
    List<?> status = heard.isEmpty() ? status(number) : List.of();
    return !status.isEmpty() && !"IN_PROGRESS".equals(status.get(0));
  }

  /** The verdict may get lost, too: of two that are sent at once a listener may hear but one. So the node keeps it. */
  private void remember(int number) throws Exception {
    List<?> status = status(number);
    if (!status.isEmpty()) {
      List<String> into = "COMPLETED".equals(status.get(0)) ? remarks : faults;
      status.stream().skip(1).forEach(text -> into.add(String.valueOf(text)));
    }
  }

  private List<?> status(int number) throws Exception {
    List<?> found = (List<?>) node.invoke("getParentRepairStatus", new Object[] {number}, "int");
    return found == null ? List.of() : found;
  }
}
