;; One household room for a text game: walk, look into things, carry one thing at a time, and
;; clean, heat, cool, slice it or switch it on. Written for the games of rla-envs; names of actions
;; and predicates follow ALFRED so that tools made for ALFWorld understand them.
(define (domain alfred)
 (:requirements :adl :typing)
 (:types agent location receptacle object rtype otype)

 (:predicates
  ;; where everything is
  (atLocation ?a - agent ?l - location)
  (receptacleAtLocation ?r - receptacle ?l - location)
  (objectAtLocation ?o - object ?l - location)
  (inReceptacle ?o - object ?r - receptacle)
  (inReceptacleObject ?o - object ?outer - object)
  (holds ?a - agent ?o - object)
  (holdsAny ?a - agent)
  ;; what it is
  (receptacleType ?r - receptacle ?rt - rtype)
  (objectType ?o - object ?ot - otype)
  (canContain ?rt - rtype ?ot - otype)
  (isReceptacleObject ?o - object)
  (openable ?r - receptacle)
  (pickupable ?o - object)
  (cleanable ?o - object)
  (heatable ?o - object)
  (coolable ?o - object)
  (toggleable ?o - object)
  (sliceable ?o - object)
  ;; what happened to it
  (opened ?r - receptacle)
  (isClean ?o - object)
  (isHot ?o - object)
  (isCool ?o - object)
  (isSliced ?o - object)
  (isToggled ?o - object)
  ;; an action needs an effect, even one that only reads
  (asked ?a - agent)
  (seen ?l - location)
  (read ?r - receptacle)
  (turned ?o - object))

 ;; Talking: nothing in the room changes.
 (:action look
  :parameters (?a - agent ?l - location)
  :precondition (atLocation ?a ?l)
  :effect (seen ?l))

 (:action inventory
  :parameters (?a - agent)
  :precondition (and)
  :effect (asked ?a))

 (:action help
  :parameters (?a - agent)
  :precondition (and)
  :effect (asked ?a))

 (:action examineReceptacle
  :parameters (?a - agent ?r - receptacle)
  :precondition (exists (?l - location) (and (atLocation ?a ?l) (receptacleAtLocation ?r ?l)))
  :effect (read ?r))

 (:action examineObject
  :parameters (?a - agent ?o - object)
  :precondition (holds ?a ?o)
  :effect (turned ?o))

 ;; Walking and doors.
 (:action GotoLocation
  :parameters (?a - agent ?lStart - location ?lEnd - location ?r - receptacle)
  :precondition (and (atLocation ?a ?lStart) (receptacleAtLocation ?r ?lEnd))
  :effect (and (not (atLocation ?a ?lStart)) (atLocation ?a ?lEnd)))

 (:action OpenObject
  :parameters (?a - agent ?l - location ?r - receptacle)
  :precondition (and (atLocation ?a ?l) (receptacleAtLocation ?r ?l)
                     (openable ?r) (not (opened ?r)))
  :effect (opened ?r))

 (:action CloseObject
  :parameters (?a - agent ?l - location ?r - receptacle)
  :precondition (and (atLocation ?a ?l) (receptacleAtLocation ?r ?l) (openable ?r) (opened ?r))
  :effect (not (opened ?r)))

 ;; Carrying. A thing may be in several receptacles at once; taking it leaves the others alone.
 (:action PickupObject
  :parameters (?a - agent ?l - location ?o - object ?r - receptacle)
  :precondition (and (atLocation ?a ?l) (receptacleAtLocation ?r ?l)
                     (or (not (openable ?r)) (opened ?r))
                     (inReceptacle ?o ?r) (pickupable ?o) (not (holdsAny ?a)))
  :effect (and (holds ?a ?o) (holdsAny ?a)
               (not (inReceptacle ?o ?r)) (not (objectAtLocation ?o ?l))))

 (:action PutObject
  :parameters (?a - agent ?l - location ?o - object ?r - receptacle ?ot - otype ?rt - rtype)
  :precondition (and (atLocation ?a ?l) (receptacleAtLocation ?r ?l)
                     (or (not (openable ?r)) (opened ?r))
                     (holds ?a ?o)
                     (objectType ?o ?ot) (receptacleType ?r ?rt) (canContain ?rt ?ot))
  :effect (and (inReceptacle ?o ?r) (objectAtLocation ?o ?l)
               (not (holds ?a ?o)) (not (holdsAny ?a))))

 ;; Changing what is held, or what stands near.
 (:action CleanObject
  :parameters (?a - agent ?l - location ?r - receptacle ?o - object)
  :precondition (and (atLocation ?a ?l) (receptacleAtLocation ?r ?l)
                     (or (receptacleType ?r SinkBasinType) (receptacleType ?r SinkType))
                     (holds ?a ?o) (cleanable ?o))
  :effect (isClean ?o))

 (:action HeatObject
  :parameters (?a - agent ?l - location ?r - receptacle ?o - object)
  :precondition (and (atLocation ?a ?l) (receptacleAtLocation ?r ?l)
                     (receptacleType ?r MicrowaveType)
                     (holds ?a ?o) (heatable ?o))
  :effect (and (isHot ?o) (not (isCool ?o))))

 (:action CoolObject
  :parameters (?a - agent ?l - location ?r - receptacle ?o - object)
  :precondition (and (atLocation ?a ?l) (receptacleAtLocation ?r ?l)
                     (receptacleType ?r FridgeType)
                     (holds ?a ?o) (coolable ?o))
  :effect (and (isCool ?o) (not (isHot ?o))))

 ;; Works through closed doors, and nothing switches off again.
 (:action ToggleObject
  :parameters (?a - agent ?l - location ?o - object ?r - receptacle)
  :precondition (and (atLocation ?a ?l) (receptacleAtLocation ?r ?l)
                     (inReceptacle ?o ?r) (toggleable ?o))
  :effect (isToggled ?o))

 (:action SliceObject
  :parameters (?a - agent ?l - location ?co - object ?ko - object)
  :precondition (and (atLocation ?a ?l) (objectAtLocation ?co ?l) (sliceable ?co)
                     (or (objectType ?ko KnifeType) (objectType ?ko ButterKnifeType))
                     (holds ?a ?ko))
  :effect (isSliced ?co)))
