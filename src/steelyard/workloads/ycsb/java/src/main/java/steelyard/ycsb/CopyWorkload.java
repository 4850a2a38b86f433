package steelyard.ycsb;

import java.util.Properties;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.WorkloadException;
import site.ycsb.workloads.CoreWorkload;

/**
 * YCSB's core workload for one of several clients that run together.
 *
 * <p>Records that they add while they run do not collide: copy {@code copy} of {@code copies} names its n-th new
 * one as the (n x copies + copy)-th after all that were loaded. Of new records each client reads only its own.
 * Where a run ends by the clock, {@code expected_operations} says how many there may be; YCSB takes the room that
 * it keeps for new keys from {@code operationcount}, which must then be without bounds.
 *
 * <p>It holds a connection from before YCSB's clock starts, so that making clients and loading classes is not
 * measured.
 */
public final class CopyWorkload extends CoreWorkload {
  private long copy;
  private long copies;
  private Binding first;

  @Override
  public void init(Properties properties) throws WorkloadException {
    copy = Long.parseLong(properties.getProperty("copy", "0"));
    copies = Long.parseLong(properties.getProperty("copies", "1"));
    Properties bounded = new Properties();
    bounded.putAll(properties);
    String count = properties.getProperty("operationcount", "0");
    bounded.setProperty("operationcount", properties.getProperty("expected_operations", count));
    super.init(bounded);
    connect(properties);
  }

  @Override
  public void cleanup() throws WorkloadException {
    try {
      first.cleanup();
    } catch (DBException error) {
      throw new WorkloadException(error);
    }
  }

  @Override
  protected String buildKeyName(long number) {
    boolean loaded = number < recordcount;
    return super.buildKeyName(loaded ? number : recordcount + (number - recordcount) * copies + copy);
  }

  private void connect(Properties properties) throws WorkloadException {
    try {
      first = Binding.of(properties);
      first.init();
    } catch (Exception error) {
      throw new WorkloadException(error);
    }
  }

  /** YCSB ends a load that lacks records with 0. */
  @Override
  public boolean doInsert(DB db, Object state) {
    boolean done = super.doInsert(db, state);
    if (!done) {
      System.err.println("a record could not be inserted; see the failures above");
      System.exit(1);
    }
    return done;
  }
}
