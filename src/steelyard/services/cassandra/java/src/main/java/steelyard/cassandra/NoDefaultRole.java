package steelyard.cassandra;

import java.util.concurrent.Callable;
import org.apache.cassandra.auth.CassandraRoleManager;

/** Cassandra's roles, without the one that it makes in a new ring: a superuser whose password everybody knows. */
public final class NoDefaultRole extends CassandraRoleManager {
  @Override
  protected void scheduleSetupTask(Callable<Void> task) {
    // the task would make it
  }
}
