package steelyard.cassandra;

import java.util.List;

/** What a node says of statements without running them. */
public interface StatementsMBean {
  /**
   * Why each of them is not a single statement that makes a keyspace, or a table, type, index or view of a keyspace that one
   * before it makes; empty where it is.
   */
  List<String> faults(List<String> statements);
}
