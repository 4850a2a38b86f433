package steelyard.ycsb;

/** A client that all threads use: made for the first of them, closed after the last. */
final class Shared<T extends AutoCloseable> {
  private T client;
  private int users;

  /** How to make a client. */
  interface Maker<T> {
    T make() throws Exception;
  }

  synchronized T join(Maker<T> maker) throws Exception {
    if (client == null) {
      client = maker.make();
    }
    users++;
    return client;
  }

  synchronized void leave() throws Exception {
    users--;
    if (users == 0) {
      client.close();
      client = null;
    }
  }
}
