package steelyard.cassandra;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiConsumer;
import org.apache.cassandra.schema.DefaultSchemaUpdateHandler;
import org.apache.cassandra.schema.DefaultSchemaUpdateHandlerFactory;
import org.apache.cassandra.schema.Schema;
import org.apache.cassandra.schema.SchemaTransformation.SchemaTransformationResult;
import org.apache.cassandra.schema.SchemaUpdateHandler;
import org.apache.cassandra.schema.SchemaUpdateHandlerFactory;

/**
 * Has a node that joins a ring know the ring's tables before it asks for their rows.
 *
 * <p>Cassandra waits for them as long as {@code ring_delay}, and then takes it that there are none where it has not heard of
 * any: a node on a busy machine joined without a single row, and said that it was done.
 */
public final class SchemaFirst implements SchemaUpdateHandlerFactory {
  private static final long PAUSE = Duration.ofMillis(50).toNanos();

  @Override
  public SchemaUpdateHandler getSchemaUpdateHandler(
      boolean online, BiConsumer<SchemaTransformationResult, Boolean> changed) {
    return online
        ? new Patient(changed)
        : DefaultSchemaUpdateHandlerFactory.instance.getSchemaUpdateHandler(false, changed);
  }

  private static final class Patient extends DefaultSchemaUpdateHandler {
    Patient(BiConsumer<SchemaTransformationResult, Boolean> changed) {
      super(changed);
    }

    /** False ends the node, which then says so. */
    @Override
    public boolean waitUntilReady(Duration longest) {
      long deadline = System.nanoTime() + longest.toNanos();
      while (Schema.instance.isEmpty()) {
        if (System.nanoTime() > deadline) {
          return false;
        }
        LockSupport.parkNanos(PAUSE);
      }
      return super.waitUntilReady(longest);
    }
  }
}
