package io.kcp4j;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.belongToAnyOf;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.conditions.ArchConditions.be;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noMethods;

import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import io.kcp4j.crypto.Aead;
import io.kcp4j.crypto.BlockCipher;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.CipherLibrary;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.crypto.Salsa20Kernel;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.fec.ShardKernel;
import io.kcp4j.lanes.LaneConfig;
import io.kcp4j.lanes.LaneKind;
import io.kcp4j.lanes.LaneStats;
import io.kcp4j.lanes.LanesConfig;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.Random;
import java.util.SplittableRandom;

/** The dependencies between packages, and what the core never uses: I/O, clocks and threads. */
@AnalyzeClasses(packages = "io.kcp4j", importOptions = ImportOption.DoNotIncludeTests.class)
class ArchitectureTest {

  @ArchTest
  static final ArchRule arqDependsOnlyOnCongestionControl =
      noClasses()
          .that()
          .resideInAPackage("io.kcp4j")
          .should()
          .dependOnClassesThat(
              resideInAPackage("io.kcp4j..")
                  .and(not(resideInAnyPackage("io.kcp4j", "io.kcp4j.congestion.."))));

  @ArchTest
  static final ArchRule sessionsDoNotDependOnKernels =
      noClasses()
          .that()
          .resideInAPackage("io.kcp4j.session..")
          .should()
          .dependOnClassesThat()
          .resideInAPackage("io.kcp4j.kernel..");

  /** Programs without the artifact can use all other ciphers. */
  @ArchTest
  static final ArchRule onlyOneClassNeedsBouncyCastle =
      noClasses()
          .that()
          .doNotHaveSimpleName("BouncyCastleBlockCipher")
          .should()
          .dependOnClassesThat()
          .resideInAPackage("org.bouncycastle..");

  @ArchTest
  static final ArchRule nothingBelowSessionsDependsOnThem =
      noClasses()
          .that()
          .resideOutsideOfPackage("io.kcp4j.session..")
          .should()
          .dependOnClassesThat()
          .resideInAPackage("io.kcp4j.session..");

  @ArchTest
  static final ArchRule publicClassesAreStableApiOrMarkedUnstable =
      classes()
          .that()
          .resideInAnyPackage("io.kcp4j.crypto", "io.kcp4j.fec", "io.kcp4j.lanes")
          .and()
          .arePublic()
          .and()
          .areTopLevelClasses()
          .should()
          .beAnnotatedWith(Unstable.class)
          .orShould(
              be(
                  belongToAnyOf(
                      Aead.class,
                      BlockCipher.class,
                      CipherAlgorithm.class,
                      CipherLibrary.class,
                      FecConfig.class,
                      KeyRing.class,
                      LaneConfig.class,
                      LaneKind.class,
                      LaneStats.class,
                      LanesConfig.class,
                      PacketKey.class,
                      Salsa20Kernel.class,
                      ShardKernel.class)));

  /** Times kernels once, on a thread of its own. */
  private static final String KERNEL_CHOICE = "io.kcp4j.kernel";

  /** Thread-local scratch memory of kernels, without state between calls. */
  private static final String KERNEL_SCRATCH = "io.kcp4j.fec.BitPlaneKernel$Scratch";

  /** Shared by tables on several threads; it neither starts threads nor blocks. */
  private static final String SESSION_DIRECTORY = "io.kcp4j.session.SessionDirectory";

  /** Part of that. */
  private static final String AUTHENTICATED_SESSIONS =
      "io.kcp4j.session.SessionDirectory$AuthenticatedSessions";

  /** Its keys expire in real time. */
  private static final String NONCE_SOURCE = "io.kcp4j.crypto.NonceSource";

  @ArchTest
  static final ArchRule fecDependsOnlyOnTheAccount =
      noClasses()
          .that()
          .resideInAPackage("io.kcp4j.fec..")
          .should()
          .dependOnClassesThat(
              resideInAnyPackage("io.kcp4j..")
                  .and(not(resideInAnyPackage("io.kcp4j.fec..", KERNEL_CHOICE)))
                  .and(not(belongToAnyOf(MemoryAccount.class, Unstable.class))));

  @ArchTest
  static final ArchRule congestionControlDependsOnNothingElse =
      noClasses()
          .that()
          .resideInAPackage("io.kcp4j.congestion..")
          .should()
          .dependOnClassesThat(
              resideInAnyPackage("io.kcp4j..")
                  .and(not(resideInAnyPackage("io.kcp4j.congestion..")))
                  .and(not(belongToAnyOf(Unstable.class))));

  @ArchTest
  static final ArchRule lanesDependOnlyOnTheArqAndTheScheduler =
      noClasses()
          .that()
          .resideInAPackage("io.kcp4j.lanes..")
          .should()
          .dependOnClassesThat(
              resideInAPackage("io.kcp4j..")
                  .and(
                      not(
                          resideInAnyPackage(
                              "io.kcp4j", "io.kcp4j.lanes..", "io.kcp4j.scheduling.."))));

  @ArchTest
  static final ArchRule schedulingDependsOnNothingElse =
      noClasses()
          .that()
          .resideInAPackage("io.kcp4j.scheduling..")
          .should()
          .dependOnClassesThat(
              resideInAPackage("io.kcp4j..").and(not(resideInAPackage("io.kcp4j.scheduling.."))));

  @ArchTest
  static final ArchRule noClocks =
      noClasses()
          .that()
          .resideOutsideOfPackage(KERNEL_CHOICE)
          .and()
          .doNotHaveFullyQualifiedName(NONCE_SOURCE)
          .should()
          .callMethod(System.class, "currentTimeMillis")
          .orShould()
          .callMethod(System.class, "nanoTime")
          .orShould()
          .dependOnClassesThat()
          .resideInAnyPackage("java.time..");

  @ArchTest
  static final ArchRule noThreadsAndNoTimers =
      noClasses()
          .that()
          .resideOutsideOfPackage(KERNEL_CHOICE)
          .and()
          .doNotHaveFullyQualifiedName(KERNEL_SCRATCH)
          .and()
          .doNotHaveFullyQualifiedName(SESSION_DIRECTORY)
          .and()
          .doNotHaveFullyQualifiedName(AUTHENTICATED_SESSIONS)
          .should()
          .dependOnClassesThat(
              resideInAnyPackage("java.util.concurrent", "java.util.concurrent.locks..")
                  .or(resideInAnyPackage("io.netty.util.concurrent.."))
                  .or(belongToAnyOf(Thread.class, ThreadLocal.class, java.util.Timer.class)));

  @ArchTest
  static final ArchRule noSynchronisation =
      noMethods().should().haveModifier(JavaModifier.SYNCHRONIZED);

  @ArchTest
  static final ArchRule cryptoDependsOnNothingElse =
      noClasses()
          .that()
          .resideInAPackage("io.kcp4j.crypto")
          .should()
          .dependOnClassesThat(
              resideInAPackage("io.kcp4j..")
                  .and(not(resideInAnyPackage("io.kcp4j.crypto", KERNEL_CHOICE)))
                  .and(not(belongToAnyOf(Unstable.class))));

  @ArchTest
  static final ArchRule kernelChoiceDependsOnNothingElse =
      noClasses()
          .that()
          .resideInAPackage(KERNEL_CHOICE)
          .should()
          .dependOnClassesThat(
              resideInAPackage("io.kcp4j..").and(not(resideInAPackage(KERNEL_CHOICE))));

  @ArchTest
  static final ArchRule onlyCryptoUsesRandomNumbers =
      noClasses()
          .that()
          .resideOutsideOfPackage("io.kcp4j.crypto")
          .should()
          .dependOnClassesThat(
              belongToAnyOf(Random.class, SplittableRandom.class)
                  .or(resideInAnyPackage("java.security..", "java.util.random..")))
          .orShould()
          .callMethod(Math.class, "random");

  @ArchTest
  static final ArchRule noLoggers =
      noClasses()
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("java.util.logging..", "org.slf4j..", "io.netty.util.internal..")
          .orShould()
          .accessField(System.class, "out")
          .orShould()
          .accessField(System.class, "err");

  @ArchTest
  static final ArchRule noSockets =
      noClasses()
          .should()
          .dependOnClassesThat(
              resideInAnyPackage("java.net..", "java.nio.channels..", "java.io..")
                  .and(
                      not(
                          belongToAnyOf(
                              InetSocketAddress.class,
                              InetAddress.class,
                              Inet4Address.class,
                              UnknownHostException.class))));

  @ArchTest
  static final ArchRule arqUsesNoAddresses =
      noClasses()
          .that()
          .resideInAPackage("io.kcp4j")
          .should()
          .dependOnClassesThat()
          .resideInAPackage("java.net..");

  @ArchTest
  static final ArchRule noChannels =
      noClasses()
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("io.netty.channel..", "io.netty.bootstrap..", "io.netty.handler..");
}
