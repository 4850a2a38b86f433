package steelyard.cassandra;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.gms.GossipDigestSyn;
import org.apache.cassandra.gms.Gossiper;
import org.apache.cassandra.locator.InetAddressAndPort;
import org.apache.cassandra.net.Message;
import org.apache.cassandra.net.MessagingService;
import org.apache.cassandra.net.Verb;
import org.apache.cassandra.utils.FBUtilities;

/**
 * Has a node that came up learn of the others at once.
 *
 * <p>Gossip tells one node of another once a second, by chance, so that a ring whose nodes come up together knows itself some
 * seconds after the last of them is up. Here a node asks all others for all that they know, as every node asks one of them
 * before it joins: by a list of digests that is empty.
 */
final class Gossip {
  private static final int PAUSE_MS = 100;
  private static final long WITHIN = TimeUnit.SECONDS.toNanos(60);  // then gossip's own pace has to do

  private Gossip() {}

  /** Asks until all of these are alive and have joined. Answers count once gossip itself has told a seed of this node. */
  static void meet(List<String> addresses) throws Exception {
    Seeds.count();
    Gossiper.instance.reloadSeeds();
    List<InetAddressAndPort> missing = Seeds.named(addresses);
    missing.remove(FBUtilities.getBroadcastAddressAndPort());
    long deadline = System.nanoTime() + WITHIN;
    while (System.nanoTime() < deadline) {
      missing.removeAll(Gossiper.instance.getLiveTokenOwners());
      if (missing.isEmpty()) {
        return;
      }
      missing.forEach(Gossip::ask);
      Thread.sleep(PAUSE_MS);
    }
  }

  private static void ask(InetAddressAndPort other) {
    GossipDigestSyn everything =
        new GossipDigestSyn(DatabaseDescriptor.getClusterName(), DatabaseDescriptor.getPartitionerName(), List.of());
    MessagingService.instance().send(Message.out(Verb.GOSSIP_DIGEST_SYN, everything), other);
  }
}
