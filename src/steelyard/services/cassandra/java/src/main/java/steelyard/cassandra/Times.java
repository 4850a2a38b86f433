package steelyard.cassandra;

import java.util.LinkedHashMap;
import java.util.Map;

/** How long each step of something took, in seconds. */
final class Times {
  private final Map<String, Double> found = new LinkedHashMap<>();
  private long last = System.nanoTime();

  void next(String step) {
    long now = System.nanoTime();
    found.put(step, (now - last) / 1e9);
    last = now;
  }

  Map<String, Double> seconds() {
    return found;
  }
}
