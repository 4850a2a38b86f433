package steelyard.cassandra;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import javax.management.ObjectName;
import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.db.ColumnFamilyStore;
import org.apache.cassandra.io.sstable.Descriptor;
import org.apache.cassandra.io.sstable.format.SSTableReader;
import org.apache.cassandra.io.sstable.metadata.MetadataType;
import org.apache.cassandra.io.sstable.metadata.StatsMetadata;
import org.apache.cassandra.io.util.File;

/** See {@link TablesMBean}. Rows are those that the statistics of each SSTable count, so counting reads no data. */
public final class Tables implements TablesMBean {
  static final String NAME = "steelyard:type=Tables";
  private static final List<String> KEPT_ELSEWHERE = List.of("manifest.json", "schema.cql");
  private static final String STATISTICS = "-Statistics.db";

  static void register() throws Exception {
    ManagementFactory.getPlatformMBeanServer().registerMBean(new Tables(), new ObjectName(NAME));
  }

  @Override
  public Map<String, Long> collect(String snapshot, String target) throws IOException {
    Files.createDirectories(Path.of(target));
    for (String location : DatabaseDescriptor.getAllDataFileLocations()) {
      for (Path keyspace : below(Path.of(location))) {
        for (Path table : below(keyspace)) {
          Path frozen = table.resolve("snapshots").resolve(snapshot);
          if (Files.isDirectory(frozen)) {
            link(frozen, place(Path.of(target), keyspace, table));
          }
        }
      }
    }
    return rows(target);
  }

  @Override
  public Map<String, Long> rows(String directory) throws IOException {
    Map<String, Long> found = new HashMap<>();
    for (Path keyspace : below(Path.of(directory))) {
      for (Path table : below(keyspace)) {
        found.put(keyspace.getFileName() + "." + table.getFileName(), rowsOf(table));
      }
    }
    return found;
  }

  @Override
  public Set<String> views() {
    Set<String> found = new HashSet<>();
    for (ColumnFamilyStore table : ColumnFamilyStore.all()) {
      if (table.metadata().isView()) {
        found.add(name(table));
      }
    }
    return found;
  }

  @Override
  public Map<String, Long> rows() {
    Map<String, Long> found = new HashMap<>();
    for (ColumnFamilyStore table : ColumnFamilyStore.all()) {
      found.put(name(table), table.getLiveSSTables().stream().mapToLong(SSTableReader::getTotalRows).sum());
    }
    return found;
  }

  private static String name(ColumnFamilyStore table) {
    return table.keyspace.getName() + "." + table.name;
  }

  /** What an index needs is built again from the rows; the manifest and the schema are kept elsewhere. */
  private static void link(Path snapshot, Path target) throws IOException {
    Files.createDirectories(target);
    for (Path file : contents(snapshot)) {
      if (Files.isRegularFile(file) && !KEPT_ELSEWHERE.contains(file.getFileName().toString())) {
        Files.createLink(target.resolve(file.getFileName()), file);
      }
    }
  }

  /** A table's directory ends with its id. */
  private static Path place(Path target, Path keyspace, Path table) {
    String name = table.getFileName().toString();
    return target.resolve(keyspace.getFileName()).resolve(name.substring(0, name.lastIndexOf('-')));
  }

  private static long rowsOf(Path table) throws IOException {
    long found = 0;
    for (Path file : contents(table)) {
      if (file.getFileName().toString().endsWith(STATISTICS)) {
        found += statistics(file).totalRows;
      }
    }
    return found;
  }

  private static StatsMetadata statistics(Path file) throws IOException {
    String keyspace = file.getParent().getParent().getFileName().toString();
    String table = file.getParent().getFileName().toString();
    Descriptor sstable = Descriptor.fromFileWithComponent(new File(file), keyspace, table).left;
    return (StatsMetadata) sstable.getMetadataSerializer().deserialize(sstable, MetadataType.STATS);
  }

  private static List<Path> below(Path directory) throws IOException {
    return contents(directory).stream().filter(Files::isDirectory).toList();
  }

  private static List<Path> contents(Path directory) throws IOException {
    try (Stream<Path> found = Files.list(directory)) {
      return found.sorted().toList();
    }
  }
}
