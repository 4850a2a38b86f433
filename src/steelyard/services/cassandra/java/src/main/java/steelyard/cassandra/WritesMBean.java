package steelyard.cassandra;

/** What a node has not handed on yet. */
public interface WritesMBean {
  /** Files of hints on its disk. One that is being sent lies there until the other node has all of it. */
  long hints();

  /** Writes hints that are only in memory, where they may be for 10 s, to files. */
  void flush();
}
