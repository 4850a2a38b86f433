package steelyard.cassandra;

import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.cassandra.locator.InetAddressAndPort;
import org.apache.cassandra.locator.SeedProvider;
import org.apache.cassandra.utils.FBUtilities;

/**
 * The seeds of a node that comes up together with all others: itself alone until it is up, so that it waits for nobody, and
 * then those of its parameter {@code seeds}.
 */
public final class Seeds implements SeedProvider {
  private static volatile boolean up;  // Cassandra makes the provider itself, and tells nobody
  private final String seeds;

  public Seeds(Map<String, String> parameters) {
    seeds = parameters.get("seeds");
  }

  /** From now on all seeds count. */
  static void count() {
    up = true;
  }

  @Override
  public List<InetAddressAndPort> getSeeds() {
    return up ? named(List.of(seeds.split(","))) : List.of(FBUtilities.getBroadcastAddressAndPort());
  }

  /** Nodes by their addresses; without a port, on that of this one. */
  static List<InetAddressAndPort> named(List<String> addresses) {
    List<InetAddressAndPort> found = new ArrayList<>();
    try {
      for (String address : addresses) {
        found.add(InetAddressAndPort.getByName(address));
      }
    } catch (UnknownHostException error) {
      throw new IllegalArgumentException("not all of these are addresses: " + addresses, error);
    }
    return found;
  }
}
