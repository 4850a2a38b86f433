package steelyard.cassandra;

import java.nio.file.Path;

/** {@code Operate DIRECTORY OPERATION ADDRESS}: has one node do something, and returns when that is done. */
public final class Operate {
  private Operate() {}

  public static void main(String[] words) {
    try (Management node = new Management(words[2], Settings.begin(Path.of(words[0])))) {
      switch (words[1]) {
        case "decommission" -> node.invoke("decommission", new Object[] {false}, "boolean");
        case "drain" -> node.invoke("drain", new Object[0]);
        case "cleanup" -> node.onKeyspaces("forceKeyspaceCleanup", node.keyspaces());
        default -> throw new IllegalArgumentException("unknown operation " + words[1]);
      }
    } catch (Exception error) {
      Throwable reason = error.getCause() == null ? error : error.getCause();
      System.err.println(reason.getMessage());
      System.exit(1);
    }
  }
}
