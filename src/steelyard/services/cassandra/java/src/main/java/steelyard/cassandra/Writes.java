package steelyard.cassandra;

import java.lang.management.ManagementFactory;
import java.util.stream.Stream;
import javax.management.ObjectName;
import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.hints.HintsService;
import org.apache.cassandra.service.StorageService;

/** See {@link WritesMBean}. Cassandra's own figure leaves out files that are being written or sent. */
public final class Writes implements WritesMBean {
  static final String NAME = "steelyard:type=Writes";

  static void register() throws Exception {
    ManagementFactory.getPlatformMBeanServer().registerMBean(new Writes(), new ObjectName(NAME));
  }

  @Override
  public void flush() {
    HintsService.instance.flushAndFsyncBlockingly(
        StorageService.instance.getTokenMetadata().getEndpointToHostIdMapForReading().values());
  }

  @Override
  public long hints() {
    return Stream.of(DatabaseDescriptor.getHintsDirectory().tryListNames())
        .filter(name -> name.endsWith(".hints"))
        .count();
  }
}
