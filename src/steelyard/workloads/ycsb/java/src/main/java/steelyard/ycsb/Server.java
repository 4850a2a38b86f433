package steelyard.ycsb;

import java.net.InetSocketAddress;

/** Where a server listens. */
record Server(String address, int port) {
  static Server parse(String text) {
    int colon = text.lastIndexOf(':');
    return new Server(text.substring(0, colon), Integer.parseInt(text.substring(colon + 1)));
  }

  InetSocketAddress resolved() {
    return new InetSocketAddress(address, port);
  }
}
