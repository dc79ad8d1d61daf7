package io.kcp4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.ClassReader;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.ClassVisitor;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.MethodVisitor;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.Opcodes;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.memory.MemoryBudget;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * The classes of the packages that handle input which allocate buffers, arrays or collections, and
 * what each is charged to, as a resource lists them. A class that is new in the list has to say how
 * a peer's input is kept from making it grow.
 */
public final class AllocationSites {

  private AllocationSites() {}

  /** The account that pays for an allocation, or the reason why none needs to. */
  private enum Charge {
    /** Reserved in the session's {@link MemoryAccount} before it is allocated. */
    ACCOUNT,
    /** Reserved in the {@link MemoryBudget}, for no session. */
    BUDGET,
    /** Allocated once, or once for each session, in a size that input does not change. */
    CONSTANT,
    /** Grows to a limit on number or size, which the note names. */
    BOUNDED,
    /** Only for a call of the application's, or lives no longer than a call. */
    CALLER
  }

  private record Row(String site, Charge charge, String note) {}

  /**
   * Asserts that {@code resource} lists each class of {@code packages} that allocates, and that no
   * buffer is called constant: only those of an account or of a context may be.
   */
  public static void check(String resource, String... packages) {
    List<Row> rows = rows(resource);
    Set<String> listed = new TreeSet<>();
    for (Row row : rows) {
      assertTrue(listed.add(row.site), "listed twice: " + row.site);
      assertFalse(row.note.isEmpty(), "without a note: " + row.site);
      boolean isBuffer = row.site.endsWith(" buffer");
      assertTrue(!isBuffer || row.charge != Charge.CONSTANT, "not charged: " + row.site);
    }
    assertEquals(String.join("\n", sites(packages)), String.join("\n", listed));
  }

  private static List<Row> rows(String resource) {
    try (InputStream in = AllocationSites.class.getResourceAsStream(resource)) {
      String text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
      return text.lines()
          .filter(line -> !line.isBlank() && !line.startsWith("#"))
          .map(AllocationSites::row)
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Row row(String line) {
    String[] fields = line.split("\\|", -1);
    assertEquals(3, fields.length, line);
    return new Row(fields[0].strip(), Charge.valueOf(fields[1].strip()), fields[2].strip());
  }

  /** Each class that allocates, with the kind of what it allocates. */
  private static Set<String> sites(String... packages) {
    Set<String> sites = new TreeSet<>();
    new ClassFileImporter()
        .withImportOption(new ImportOption.DoNotIncludeTests()).importPackages(packages).stream()
            .filter(type -> Arrays.asList(packages).contains(type.getPackageName()))
            .forEach(type -> scan(type, sites));
    return sites;
  }

  private static void scan(JavaClass type, Set<String> sites) {
    String file = "/" + type.getName().replace('.', '/') + ".class";
    String name = type.getName().replaceAll("^io\\.kcp4j\\.(internal\\.)?|\\$.*", "");
    try (InputStream in = AllocationSites.class.getResourceAsStream(file)) {
      new ClassReader(in).accept(new Scanner(name, sites), ClassReader.SKIP_FRAMES);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static final class Scanner extends ClassVisitor {

    private static final List<String> COLLECTIONS =
        List.of("Deque", "List", "Map", "Set", "Queue", "Stream", "Heap");

    private final String name;
    private final Set<String> sites;

    Scanner(String name, Set<String> sites) {
      super(Opcodes.ASM9);
      this.name = name;
      this.sites = sites;
    }

    @Override
    public MethodVisitor visitMethod(
        int access, String method, String descriptor, String signature, String[] exceptions) {
      boolean isConstant = method.equals("<clinit>") || method.equals("$values");
      return isConstant ? null : new Sites();
    }

    private final class Sites extends MethodVisitor {

      Sites() {
        super(Opcodes.ASM9);
      }

      private void add(String kind) {
        sites.add(name + " " + kind);
      }

      @Override
      public void visitIntInsn(int opcode, int operand) {
        if (opcode == Opcodes.NEWARRAY) {
          add("array");
        }
      }

      @Override
      public void visitTypeInsn(int opcode, String type) {
        boolean isNew = opcode == Opcodes.NEW;
        if (opcode == Opcodes.ANEWARRAY) {
          add("array");
        } else if (isNew && type.startsWith("java/util/") && endsLikeACollection(type)) {
          add("collection");
        }
      }

      private static boolean endsLikeACollection(String type) {
        return COLLECTIONS.stream().anyMatch(type::endsWith);
      }

      @Override
      public void visitMethodInsn(
          int opcode, String owner, String method, String descriptor, boolean isInterface) {
        boolean isBuffer = descriptor.endsWith("Lio/netty/buffer/ByteBuf;");
        boolean isAllocator =
            method.endsWith("irectBuffer")
                || method.endsWith("heapBuffer")
                || (method.equals("buffer") && owner.startsWith("io/netty/buffer/"));
        if (isBuffer && isAllocator) {
          add("buffer");
        } else if (owner.equals("java/util/Arrays") && method.startsWith("copyOf")) {
          add("array");
        }
      }
    }
  }
}
