package steelyard.cassandra;

import java.io.IOException;
import java.util.Map;
import java.util.Set;

/** What a node can be asked to do with its tables' files, beside what Cassandra offers. */
public interface TablesMBean {
  /**
   * Moves the files of a snapshot out of the node's data into {@code target}/keyspace/table, as links to the same
   * files. The rows that they hold, by table.
   */
  Map<String, Long> collect(String snapshot, String target) throws IOException;

  /** The rows that the files in {@code directory}/keyspace/table hold, by table. */
  Map<String, Long> rows(String directory) throws IOException;

  /** The rows that the files in use hold, by table. */
  Map<String, Long> rows();

  /** Those of its tables that hold what is derived from another, and cannot be emptied by themselves. */
  Set<String> views();
}
