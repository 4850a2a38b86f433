package steelyard.cassandra;

import java.io.IOException;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** The same work on all nodes of a ring at once. */
final class Everywhere implements AutoCloseable {
  private final Map<String, Management> nodes = new LinkedHashMap<>();
  private final ExecutorService threads;

  /** What is to be done on one node. */
  interface Work<T> {
    T on(String address, Management node) throws Exception;
  }

  Everywhere(Collection<String> addresses, Settings settings) throws IOException {
    threads = Executors.newFixedThreadPool(addresses.size());
    for (String address : addresses) {
      try {
        nodes.put(address, new Management(address, settings));
      } catch (IOException error) {
        close();
        throw new IOException("node " + address + " does not answer: " + reason(error));
      }
    }
  }

  /** What came of it, by address, when it is done on all. Throws, and says where, when it failed on one. */
  <T> Map<String, T> each(Work<T> work) throws Exception {
    Map<String, Future<T>> begun = new LinkedHashMap<>();
    nodes.forEach((address, node) -> begun.put(address, threads.submit(() -> work.on(address, node))));
    Map<String, T> found = new LinkedHashMap<>();
    for (Map.Entry<String, Future<T>> entry : begun.entrySet()) {
      try {
        found.put(entry.getKey(), entry.getValue().get());
      } catch (ExecutionException error) {
        throw new IOException("node " + entry.getKey() + ": " + reason(error));
      }
    }
    return found;
  }

  /** Whether all know the same tables. */
  boolean agree() throws Exception {
    return each((address, node) -> node.storage("SchemaVersion")).values().stream().distinct().count() == 1;
  }

  Management first() {
    return nodes.values().iterator().next();
  }

  /** The words of whoever complained first. */
  static String reason(Throwable error) {
    Throwable found = error;
    while (found.getCause() != null) {
      found = found.getCause();
    }
    return found.getMessage() == null ? found.toString() : found.getMessage();
  }

  @Override
  public void close() throws IOException {
    threads.shutdownNow();
    for (Management node : nodes.values()) {
      node.close();
    }
  }
}
