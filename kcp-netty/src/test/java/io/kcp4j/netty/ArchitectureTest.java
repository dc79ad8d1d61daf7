package io.kcp4j.netty;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.simpleName;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.nameMatching;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

/** The dependencies between packages; see src/docs/architecture.md. */
@AnalyzeClasses(packages = "io.kcp4j", importOptions = ImportOption.DoNotIncludeTests.class)
class ArchitectureTest {

  @ArchTest
  static final ArchRule coreKnowsNoChannels =
      noClasses()
          .that()
          .resideInAnyPackage("io.kcp4j", "io.kcp4j.internal..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("io.kcp4j.netty..", "io.netty.channel..", "io.netty.bootstrap..");

  @ArchTest
  static final ArchRule channelsKnowNoMonitoring =
      noClasses()
          .that()
          .resideInAPackage("io.kcp4j.netty")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("io.kcp4j.netty.metrics..", "io.micrometer..");

  /** Below the API only its values are known: options, their defaults and what they hold. */
  @ArchTest
  static final ArchRule internalsKnowNoChannels =
      noClasses()
          .that()
          .resideInAPackage("io.kcp4j.netty.internal..")
          .should()
          .dependOnClassesThat(
              resideInAPackage("io.kcp4j.netty")
                  .and(not(nameMatching("io\\.kcp4j\\.netty\\.Kcp(Channel|ServerChannel)Option")))
                  .and(not(nameMatching("io\\.kcp4j\\.netty\\.KcpSocketConfig(\\$.*)?"))));

  @ArchTest
  static final ArchRule udpKnowsNoSessions =
      noClasses()
          .that()
          .resideInAPackage("io.kcp4j.netty.internal.udp..")
          .should()
          .dependOnClassesThat(
              resideInAnyPackage(
                      "io.kcp4j.netty", "io.kcp4j.netty.internal..", "io.kcp4j.internal.session..")
                  .and(not(resideInAPackage("io.kcp4j.netty.internal.udp.."))));

  @ArchTest
  static final ArchRule channelsGoThroughTheEndpoint =
      noClasses()
          .that()
          .resideInAnyPackage("io.kcp4j.netty", "io.kcp4j.netty.internal.options..")
          .should()
          .dependOnClassesThat(
              resideInAPackage("io.kcp4j.netty.internal.udp..")
                  .and(not(simpleName("UdpTransport"))));

  @ArchTest
  static final ArchRule optionalTransportsStayInTwoClasses =
      noClasses()
          .that()
          .haveNameNotMatching(
              "io\\.kcp4j\\.netty\\.internal\\.udp\\.(UdpTransport|ReceiveBuffers)(\\$.*)?")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(
              "io.netty.channel.epoll..",
              "io.netty.channel.uring..",
              "io.netty.channel.kqueue..",
              "io.netty.channel.unix..");

  @ArchTest
  static final ArchRule onlyTheLoopReadsTheClock =
      noClasses()
          .that()
          .resideInAPackage("io.kcp4j.netty..")
          .and()
          .doNotHaveSimpleName("EventLoopContext")
          .should()
          .callMethod(System.class, "nanoTime")
          .orShould()
          .callMethod(System.class, "currentTimeMillis");
}
